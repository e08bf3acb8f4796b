import { duration } from '$lib/services/duration';
import type { Model } from '$lib/services/models';
import { text } from '$lib/text';

/** When the platform itself loads and unloads a model: `on_demand`, `idle_unload_s` and `pin` of its definition. */

const words = text.models.policy;
/** The states of a model in which its definition can be changed. */
const AT_REST: readonly string[] = ['unloaded', 'failed'];

/** The policy in one line: `on demand, idle 10 min`; a model without one is loaded and unloaded by hand. */
export function policyText({ definition }: Model): string {
	const { pin, on_demand, idle_unload_s } = definition;
	const parts: string[] = [];
	if (pin === true) parts.push(words.pinned);
	if (on_demand === 'load') parts.push(words.onDemand);
	if (typeof idle_unload_s === 'number') parts.push(words.idle(duration(idle_unload_s)));
	return parts.join(', ') || words.byHand;
}

/** The order of policies: pinned models, those that a request loads, those that are unloaded when idle, all others. */
export function policyRank({ definition }: Model): number {
	if (definition['pin'] === true) return 0;
	if (definition['on_demand'] === 'load') return 1;
	return typeof definition['idle_unload_s'] === 'number' ? 2 : 3;
}

/** Why the policy cannot be changed here now; undefined: it can. */
export function whyFixed({ registered, dynamic, runtime_state }: Model): string | undefined {
	if (!registered) return dynamic ? words.dynamic : words.configured;
	return AT_REST.includes(runtime_state) ? undefined : words.inUse;
}
