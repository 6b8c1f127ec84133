/** The layers of docs/architecture.md: who may import whom. Type-only imports count. */
const components = ['pilot-discovery', 'pilot-agent', 'mesh_ca', 'mixs', 'sidecar-injector', 'meshctl', 'mesh-init', 'lab'];

/** A layer and the layers below it that it may use, its own included. */
const layers = {
  lib: ['lib'],
  io: ['io', 'lib', '#gen'],
  model: ['model', 'lib'],
  policy: ['policy', 'model', 'lib'],
  injection: ['injection', 'model', 'lib'],
  'proxy-dump': ['proxy-dump', 'model', 'lib'],
  rules: ['rules', 'model', 'lib'],
  xds: ['xds', 'policy', 'model', 'lib', '#gen'],
  sources: ['sources', 'model', 'io', 'lib'],
  delivery: ['delivery', 'io', 'lib', '#gen'],
  flags: ['flags', 'lib', 'io'],
};

const folder = (layer) => (layer === '#gen' ? '^build/gen/' : `^src/${layer}/`);

const layerRules = Object.entries(layers).map(([layer, allowed]) => ({
  name: `layer-${layer}`,
  comment: `src/${layer} may import ${allowed.join(', ')} only`,
  severity: 'error',
  from: { path: `^src/${layer}/` },
  to: { path: '^(src|build/gen)/', pathNot: allowed.map(folder) },
}));

const componentRules = components
  .filter((component) => component !== 'lab')
  .map((component) => ({
    name: `component-${component}`,
    comment: 'a component never imports another component, nor commands; what its flags are anybody may know',
    severity: 'error',
    from: { path: `^src/${component}/` },
    to: {
      path: `^src/(commands|${components.filter((other) => other !== component).join('|')})/`,
      pathNot: '^src/[^/]+/flags\\.ts$',
    },
  }));

module.exports = {
  forbidden: [
    ...layerRules,
    ...componentRules,
    {
      name: 'pure',
      comment: 'model, policy, rules, xds and injection use no Node module',
      severity: 'error',
      from: { path: '^src/(model|policy|rules|xds|injection)/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'commands-are-thin',
      comment: 'a command imports flags and the typed tables statically; everything else only dynamically, for start-up time',
      severity: 'error',
      from: { path: '^src/commands/' },
      to: { path: '^src/', pathNot: ['^src/(commands|flags|lib)/', '/flags\\.ts$'], dynamic: false },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'not-to-test',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|setup|bench)/' },
    },
    {
      name: 'no-dev-dependency',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], pathNot: ['node_modules/@types/'] },
    },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: ['node_modules', '^build/gen'] },
    enhancedResolveOptions: { conditionNames: ['import', 'node', 'default'], extensions: ['.ts', '.js', '.json'] },
  },
};
