import { asProblem, type ApiProblem } from '$lib/services/call';
import { load, planLoad, planUnload, unload, type LoadPlan, type UnloadPlan } from '$lib/services/load_calls';
import { text } from '$lib/text';

/** Actions on several things: loads and unloads of models, with what each would do. */

export type BulkKind = 'load' | 'unload';

/** What is known of one model of a bulk action. */
export interface BulkEntry {
	name: string;
	plan?: LoadPlan | UnloadPlan;
	/** The plan, or the action, was refused. */
	problem?: ApiProblem;
	isBegun?: boolean;
}

/** So many requests are sent at once. */
const AT_ONCE = 4;

/** Do something with each of these, a few at once. */
export async function forEach<One>(all: readonly One[], work: (one: One) => Promise<void>): Promise<void> {
	const left = [...all];
	async function next(): Promise<void> {
		for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one);
	}
	await Promise.all(Array.from({ length: AT_ONCE }, next));
}

/** Ask for the plan of each model; `onplan` gets each entry when it is there. */
export async function planEach(kind: BulkKind, names: readonly string[], onplan: (entry: BulkEntry) => void): Promise<void> {
	await forEach(names, async (name) => {
		try {
			onplan({ name, plan: await (kind === 'load' ? planLoad(name, {}) : planUnload(name)) });
		} catch (error) {
			onplan({ name, problem: asProblem(error) });
		}
	});
}

/** Whether the action can begin, as far as its plan says. */
export function canBegin({ plan, problem, isBegun }: BulkEntry): boolean {
	return plan !== undefined && plan.problem === null && plan.begins && problem === undefined && !isBegun;
}

/**
 * Begin the action on each model that can, one after the other: a load that no longer fits then is refused. `goesOn`: false
 * when no further one is wanted.
 */
export async function beginEach(
	kind: BulkKind,
	entries: readonly BulkEntry[],
	onend: (entry: BulkEntry) => void,
	goesOn: () => boolean = () => true
): Promise<void> {
	for (const entry of entries.filter(canBegin)) {
		if (!goesOn()) return;
		try {
			await (kind === 'load' ? load(entry.name, {}) : unload(entry.name));
			onend({ ...entry, isBegun: true });
		} catch (error) {
			onend({ ...entry, problem: asProblem(error) });
		}
	}
}

/** What happens to a model, in words: `wait` if it may fail as it did last, `bad` if it does not begin. */
export function effectOf({ plan, problem, isBegun }: BulkEntry): { words: string; tone: 'bad' | 'wait' | 'plain' } {
	const words = text.models.bulk;
	const refusal = problem ?? plan?.problem;
	if (isBegun) return { words: words.begun, tone: 'plain' };
	if (refusal) return { words: words.refused(refusal.message), tone: 'bad' };
	if (!plan) return { words: words.asking, tone: 'plain' };
	if (plan.operation === 'model-unload') {
		return { words: plan.begins ? text.load.plan.drains(plan.runningRequests, plan.waitingRequests) : words.notLoaded, tone: 'plain' };
	}
	if (!plan.begins) return { words: words.nothing, tone: 'plain' };
	const begins = words.begins(plan.workers.join(', '));
	return plan.lastError ? { words: words.failedLast(begins, plan.lastError), tone: 'wait' } : { words: begins, tone: 'plain' };
}

/** The memory (MiB) that the loads of these plans need, or that the unloads free; null if one is unknown. */
export function memoryOf(entry: BulkEntry): number | null {
	const { plan } = entry;
	if (!plan) return null;
	if (plan.operation === 'model-unload') return plan.freesMB;
	return plan.memory.neededMB === null ? null : plan.memory.neededMB * Math.max(1, plan.workers.length);
}

/** The time that the action takes (s), by earlier ones; null if it is unknown. */
export function timeOf({ plan }: BulkEntry): number | null {
	return plan?.eta ?? null;
}
