import { expect } from 'chai';
import { backEndImages } from '../../../src/lab/kubelet/back-end-images.ts';

const KEPT = ['/c/mesh/prometheus/debian/usr/bin/prometheus', '/c/mesh/redis/debian/usr/bin/redis-server'];
const machine = (...found: readonly string[]) => ({
  program: (name: string) => (found.includes(name) ? (name.startsWith('/') ? name : `/usr/bin/${name}`) : undefined),
  exists: (path: string) => found.includes(path),
});
const env = { XDG_CACHE_HOME: '/c' };

describe('images of back ends', () => {
  it('are programs of the machine first', () => {
    const images = backEndImages(env, machine('redis-server', ...KEPT));
    expect(images.get('redis')).to.deep.equal(['/usr/bin/redis-server']);
  });

  it('are what the set-up keeps otherwise, with its libraries', () => {
    const [program, libraries, path] = backEndImages(env, machine(...KEPT)).get('prometheus') ?? [];
    expect([program, path]).to.deep.equal(['/usr/bin/env', KEPT[0]]);
    expect(libraries).to.match(/^LD_LIBRARY_PATH=\/c\/mesh\/prometheus\/debian\/usr\/lib\/x86_64-linux-gnu:/);
  });

  it('are none of what is not there: no jar without Java, no Java without a jar', () => {
    const jar = '/c/mesh/zipkin/3.4.4/zipkin-server.jar';
    expect([...backEndImages(env, machine('java')).keys()]).to.deep.equal([]);
    expect([...backEndImages(env, machine(jar)).keys()]).to.deep.equal([]);
    expect(backEndImages(env, machine('java', jar)).get('zipkin')?.[2])
      .to.include(`/usr/bin/java`)
      .and.include(jar);
  });
});
