import { type Command, Help } from '@oclif/core';
import { COMPONENTS } from './components.ts';
import { spokenAs } from './spoken-name.ts';

/** Help that speaks of `pilot-agent`, not `mesh pilot-agent`, when the executable is called by that name. */
export default class MeshHelp extends Help {
  override async showRootHelp(): Promise<void> {
    this.log(this.formatRoot());
    this.log('');
    const components = Object.entries(COMPONENTS).map(([name, { summary }]) => ({ name, description: summary }));
    this.log(
      this.section(
        'COMPONENTS',
        this.renderList(
          components.map(({ name, description }) => [name, description]),
          { indentation: 2, spacer: '\n' },
        ),
      ),
    );
    this.log('');
    this.log('Each is also called by its own name through a symlink to this program. `mesh COMPONENT --help` tells more.');
  }

  /** A component's subcommands are commands: topics would list them a second time. */
  protected override get sortedTopics(): Help['config']['topics'] {
    return [];
  }

  protected override formatCommands(commands: Command.Loadable[]): string {
    return super.formatCommands(commands.filter((command) => !command.hidden));
  }

  protected override log(...args: string[]): void {
    super.log(...args.map((text) => spokenAs(process.argv, text)));
  }
}
