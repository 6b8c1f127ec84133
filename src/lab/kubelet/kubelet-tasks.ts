import type { Reconcilers } from '../reconcilers.ts';
import type { Kubelet } from './kubelet.ts';

/** What a kubelet does again and again: `pods`, `volumes` and `status`. */
export function addKubeletTasks(tasks: Reconcilers, kubelet: Kubelet): void {
  tasks.add('pods', () => kubelet.reconcile());
  tasks.add('volumes', () => kubelet.refreshVolumes());
  tasks.add('status', () => kubelet.report());
}
