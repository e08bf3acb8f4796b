import { mebibytes, number } from '$lib/services/format';
import { slotsOf, type Model } from '$lib/services/models';
import { text } from '$lib/text';

const words = text.models;

/** What a page shows of each model, as titles with their values. `speed`: tokens of answers per second; undefined: not measured. */
export function factsOf(model: Model, speed: number | undefined): [title: string, value: string][] {
	return [
		[words.backend, model.resolved_backend],
		[words.configured, configuredOf(model)],
		[words.replicas, replicasOf(model)],
		[words.slots, words.slotsOf(model.inflight_requests, slotsOf(model))],
		[words.queue, String(model.queue_depth)],
		[words.speed, speed === undefined ? words.noSpeed : number(speed)],
		[words.memory, memoryOf(model)],
		...contextOf(model)
	];
}

/** The most tokens of a request, and why that is less than what is set; nothing for a model without a context. */
function contextOf({ context_tokens, context_reason }: Model): [string, string][] {
	if (!context_tokens) return [];
	return [[words.context, [words.tokens(number(context_tokens)), context_reason].filter(Boolean).join('; ')]];
}

/** The replicas that are up and wanted, and the bounds between which their number follows the load. */
function replicasOf({ loaded_replicas, replicas, scaling }: Model): string {
	return `${loaded_replicas} / ${replicas}${scaling ? words.scaling(scaling.min, scaling.max) : ''}`;
}

/** Where a model is defined, and whether the platform loads it at its start. */
export function configuredOf({ dynamic, registered, configured_enabled }: Model): string {
	if (dynamic && !registered) return words.dynamic;
	const start = configured_enabled ? words.enabled : words.notEnabled;
	return registered ? words.added(start) : start;
}

/** The estimate of a model's memory, of how many replicas it is, and where it comes from. */
function memoryOf(model: Model): string {
	if (model.vram_estimate_mib === null) return words.unknown;
	const source = words.sources[model.vram_estimate_source] ?? model.vram_estimate_source;
	return `${mebibytes(model.vram_estimate_mib)}, ${words.forReplicas(model.vram_estimate_replica_count)} (${source})`;
}
