import type { Registry } from 'prom-client';

/** What is scraped on the monitoring port: the server's own metrics, and those of every handler that makes some. */
export class ScrapedRegistries {
  readonly #own: Registry;
  readonly #others = new Set<Registry>();

  constructor(own: Registry) {
    this.#own = own;
  }

  /** Scraped from now on, until the returned function is called. */
  add(registry: Registry): () => void {
    this.#others.add(registry);
    return () => this.#others.delete(registry);
  }

  get contentType(): string {
    return this.#own.contentType;
  }

  /** The Prometheus text format. Of two handlers with a metric of one name the first is shown: the format allows no other. */
  async text(): Promise<string> {
    const taken = new Set(this.#own.getMetricsAsArray().map(({ name }) => name));
    const texts = [await this.#own.metrics()];
    for (const registry of this.#others) {
      for (const { name } of registry.getMetricsAsArray()) {
        if (taken.has(name)) continue;
        taken.add(name);
        texts.push(`${await registry.getSingleMetricAsString(name)}\n\n`);
      }
    }
    return texts.join('');
  }
}
