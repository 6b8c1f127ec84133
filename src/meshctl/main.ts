/** The commands of meshctl. */
export { runAnalyze } from './analyze.ts';
export { runApply } from './apply.ts';
export { runCreate } from './create.ts';
export { runDelete } from './delete.ts';
export { runExplain } from './explain.ts';
export { runGet } from './get.ts';
export { runReplace } from './replace.ts';
