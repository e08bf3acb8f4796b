import { isNews, type Alert } from '$lib/services/alerts';
import type { Model } from '$lib/services/feed_events';
import { isDrained, type Worker } from '$lib/services/workers';

/** What needs an operator, or will be interesting to one, the most urgent first. `alert`: the rule whose acknowledgement ends it. */
export type Attention =
	| { kind: 'unevaluated'; /** When the rules of the alerts were evaluated; null: never. */ at: number | null }
	| { kind: 'alert'; severity: Alert['severity']; alert: string; summary: string; more: number }
	| { kind: 'failed'; model: string; error: string; restartAt: number | null; /** The load that failed, if it is known. */ load: string | null; alert: string | null }
	| { kind: 'missing'; model: string; up: number; wanted: number; error: string }
	| { kind: 'lost'; worker: string; at: number; alert: string | null }
	| { kind: 'proposals'; count: number }
	| { kind: 'drained'; worker: string; actor: string; running: number };

/** What tells an item from the others: of a kind there is one for each rule, model or worker. */
export function keyOf(item: Attention): string {
	const of = 'model' in item ? item.model : 'worker' in item ? item.worker : item.kind === 'alert' ? item.alert : '';
	return `${item.kind} ${of}`;
}

/** A source of the items, as far as it decides what is known: `Polled` and the feed have these fields. */
type Source = Readonly<{ value?: unknown; state: 'loading' | 'live' | 'stale' | 'refused' }>;

/** How many things need an operator, as far as that is known. */
export type Problems = number | 'reading' | 'unknown';

/** Whether a source has no value, as its first reading has not ended. */
export function isBeingRead({ value, state }: Source): boolean {
	return value === undefined && state === 'loading';
}

/** What is known of a number of items: `unknown` where there is none and a source cannot be read now. */
export function problemsOf(items: readonly Attention[], sources: readonly Source[]): Problems {
	if (sources.some(isBeingRead)) return 'reading';
	return items.length > 0 || sources.every(({ state }) => state === 'live') ? items.length : 'unknown';
}

/** Alerts about what has an item of its own here, with more facts. */
const MODEL_FAILED = 'StokerModelFailed';
const WORKERS_LOST = 'StokerWorkersLost';

/**
 * Derive it from the models, the workers, the number of proposals that wait for signatures, and the alerts. What operators have
 * acknowledged is left out.
 */
export function attentionOf(
	models: readonly Model[],
	workers: readonly Worker[],
	proposals: number,
	alerts: readonly Alert[] = []
): Attention[] {
	const failures = instancesOf(alerts, MODEL_FAILED);
	const known = acknowledgedFailures(alerts);
	const firing = new Set(failures.filter(({ state, acknowledged }) => state === 'firing' && !acknowledged).map(({ labels }) => labels.model));
	const firesLost = alerts.some((alert) => alert.name === WORKERS_LOST && isNews(alert));
	const lostBefore = acknowledgedLosses(alerts);
	const failed = models
		.filter((model) => model.runtime_state === 'failed' && !known.has(model.name))
		.map((model) => ({
			kind: 'failed' as const,
			model: model.name,
			error: model.last_error ?? '',
			restartAt: model.restart_at,
			load: model.operation_id?.startsWith('load_') ? model.operation_id : null,
			alert: firing.has(model.name) ? MODEL_FAILED : null
		}));
	const drained = new Set(workers.filter((worker) => worker.drain).map((worker) => worker.name));
	// a replica on a worker that drains is up, and accepts no requests: it is not missing
	const closed = (name: string): number =>
		workers
			.filter((worker) => drained.has(worker.name))
			.flatMap((worker) => worker.replicas)
			.filter((replica) => replica.model === name && replica.state === 'up').length;
	const missing = models
		.filter((model) => model.runtime_state === 'loaded' && model.loaded_replicas + closed(model.name) < model.replicas)
		.map((model) => ({
			kind: 'missing' as const,
			model: model.name,
			up: model.loaded_replicas,
			wanted: model.replicas,
			error: model.last_error ?? ''
		}));
	const lost = workers
		.filter((worker) => worker.state === 'lost' && (worker.lost_at ?? 0) >= lostBefore)
		.map((worker) => ({ kind: 'lost' as const, worker: worker.name, at: worker.lost_at ?? 0, alert: firesLost ? WORKERS_LOST : null }));
	const shownElsewhere = (name: string) => (name === MODEL_FAILED && failed.length > 0) || (name === WORKERS_LOST && lost.length > 0);
	const news = alerts
		.filter((alert) => isNews(alert) && !shownElsewhere(alert.name))
		.map(({ name, severity, instances }) => {
			const firing = instances.filter(({ state, acknowledged }) => state === 'firing' && !acknowledged);
			return { kind: 'alert' as const, severity, alert: name, summary: firing[0]?.summary ?? '', more: firing.length - 1 };
		})
		.sort((one, other) => Number(other.severity === 'critical') - Number(one.severity === 'critical'));
	const waiting = proposals > 0 ? [{ kind: 'proposals' as const, count: proposals }] : [];
	const drains = workers.filter(isDrained).map((worker) => ({
		kind: 'drained' as const,
		worker: worker.name,
		actor: worker.drain?.actor ?? '',
		running: worker.replicas.reduce((sum, replica) => sum + replica.slots_used, 0)
	}));
	return [...news, ...failed, ...missing, ...lost, ...waiting, ...drains];
}

/** How many failed models, lost workers and other alerts that fire are no items, as they were acknowledged. */
export function countAcknowledged(models: readonly Model[], workers: readonly Worker[], alerts: readonly Alert[]): number {
	const known = acknowledgedFailures(alerts);
	const before = acknowledgedLosses(alerts);
	const failed = models.filter(({ name, runtime_state: state }) => state === 'failed' && known.has(name));
	const lost = workers.filter(({ state, lost_at: at }) => state === 'lost' && (at ?? 0) < before);
	const others = alerts
		.filter(({ name }) => name !== MODEL_FAILED && name !== WORKERS_LOST)
		.flatMap(({ instances }) => instances.filter(({ state, acknowledged }) => state === 'firing' && acknowledged));
	return failed.length + lost.length + others.length;
}

function instancesOf(alerts: readonly Alert[], rule: string): Alert['instances'] {
	return alerts.filter(({ name }) => name === rule).flatMap(({ instances }) => instances);
}

/** The models whose failure was acknowledged. */
function acknowledgedFailures(alerts: readonly Alert[]): ReadonlySet<string | undefined> {
	return new Set(instancesOf(alerts, MODEL_FAILED).filter(({ acknowledged }) => acknowledged).map(({ labels }) => labels.model));
}

/** The time before which the loss of a worker was acknowledged. */
function acknowledgedLosses(alerts: readonly Alert[]): number {
	return alerts.find(({ name }) => name === WORKERS_LOST)?.acknowledged_at ?? 0;
}
