import type { Model } from '$lib/services/feed_events';

export type { Model };
export type ModelState = Model['runtime_state'];
export type Action = 'load' | 'repair' | 'dismiss' | 'unload' | 'cancel';

/** What can be done with a model in its present state. */
export function actionsOf(model: Model): Action[] {
	switch (model.runtime_state) {
		case 'unloaded':
			return ['load'];
		case 'failed':
			// both are an unload: it ends a restart that is due, or takes the error away
			return ['repair', 'load', model.restart_at === null ? 'dismiss' : 'unload'];
		case 'loading':
			return model.operation_id === null ? [] : ['cancel'];
		case 'loaded':
			return model.loaded_replicas < model.replicas ? ['repair', 'unload'] : ['unload'];
		default:
			return [];
	}
}

/** The requests that the engines that are up can run at the same time. */
export function slotsOf(model: Model): number {
	return model.loaded_replicas * model.effective_target_inflight;
}

/** Whether requests of a model wait until it is loaded. */
export function waitsForLoad(model: Model): boolean {
	return model.queue_depth > 0 && (model.runtime_state === 'unloaded' || model.runtime_state === 'loading');
}
