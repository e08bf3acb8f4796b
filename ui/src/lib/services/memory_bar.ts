import { mebibytes } from '$lib/services/format';
import type { LoadPlan } from '$lib/services/load_calls';
import { text } from '$lib/text';

/** What a load does to the memory of each worker's device, as bars: pure functions of its plan. */

type Memory = LoadPlan['memory'];
type Device = Memory['devices'][number];

/** The width of a bar in its own unit. */
export const WIDTH = 1000;

/** So many bars are shown. */
export const MOST_BARS = 6;

export type PartKind = 'used' | 'promised' | 'weights' | 'cache' | 'other' | 'needed' | 'freed' | 'free' | 'lacking';
export type Verdict = keyof typeof text.load.bar.verdicts;

/** One part of the memory. `x` and `width` are places in the bar. */
export interface Part {
	kind: PartKind;
	mib: number;
	x: number;
	width: number;
}

export interface Bar {
	worker: string;
	total: number;
	verdict: Verdict;
	/** The model that is unloaded first, if the load fits only then. */
	evicts: string | undefined;
	/** Those with any memory, in their order from the left. `freed` lies below the others. */
	parts: Part[];
	/** The place of the whole memory: beyond it nothing fits. */
	end: number;
}

/** The bars of a plan, first those that the load uses, then those with the most free memory; `left` are not shown. */
export function barsOf(plan: LoadPlan): { bars: Bar[]; left: number } {
	const order = (device: Device): number => (device.neededMB ? 2 : device.eligible ? 1 : 0);
	const devices = plan.memory.devices
		.filter(({ totalMB }) => totalMB > 0)
		.toSorted((one, other) => order(other) - order(one) || other.freeMB - one.freeMB);
	const shown = devices.slice(0, MOST_BARS);
	return { bars: shown.map((device) => barOf(plan, device)), left: devices.length - shown.length };
}

function barOf(plan: LoadPlan, device: Device): Bar {
	const total = device.totalMB;
	const occupied = Math.max(0, total - device.freeMB);
	const freed = Math.min(occupied, device.freedByEvictionMB ?? 0);
	const needs = needOf(plan, device);
	const before: [PartKind, number][] = [
		['used', occupied - freed],
		['promised', device.promisedMB]
	];
	const filled = [...before, ...needs].reduce((sum, [, mib]) => sum + mib, 0);
	const all: [PartKind, number][] = [...before, ...needs, ['free', Math.max(0, total - filled)]];
	const scale = WIDTH / Math.max(total, filled);
	const parts: Part[] = [];
	let at = 0;
	for (const [kind, mib] of all) {
		if (mib > 0) parts.push({ kind, mib, ...placed(at, mib, scale) });
		at += mib;
	}
	if (freed > 0) parts.push({ kind: 'freed', mib: freed, ...placed(occupied - freed, freed, scale) });
	if (filled > total) parts.push({ kind: 'lacking', mib: filled - total, ...placed(total, filled - total, scale) });
	const verdict = verdictOf(plan, device, freed, filled);
	const evicts = verdict === 'evicts' ? plan.evicts?.modelId : undefined;
	return { worker: device.worker, total, verdict, evicts, parts, end: round(total * scale) };
}

function placed(from: number, mib: number, scale: number): { x: number; width: number } {
	const x = round(from * scale);
	return { x, width: round(round((from + mib) * scale) - x) };
}

function round(value: number): number {
	return Math.round(value * 10) / 10;
}

/**
 * What the load takes of a device, in parts where they are known. A load that no device has room for, and that was given none,
 * is shown with one replica on each device that could have it.
 */
function needOf(plan: LoadPlan, device: Device): [PartKind, number][] {
	const { neededMB, weightsMB, kvCacheMB, otherMB } = plan.memory;
	const isRefused = plan.problem?.code === 'insufficient_memory' && device.eligible;
	const taken = device.neededMB || (isRefused ? neededMB : 0) || 0;
	if (taken === 0) return [];
	if (neededMB === null || weightsMB === null || kvCacheMB === null || otherMB === null) return [['needed', taken]];
	const replicas = taken / Math.max(1, neededMB);
	return [
		['weights', weightsMB * replicas],
		['cache', kvCacheMB * replicas],
		['other', otherMB * replicas]
	];
}

function verdictOf(plan: LoadPlan, device: Device, freed: number, filled: number): Verdict {
	if (!device.eligible) return 'ineligible';
	if (filled > device.totalMB) return 'too_large';
	if (plan.memory.neededMB === null) return plan.workers.includes(device.worker) ? 'unknown' : 'unused';
	if (!device.neededMB) return 'unused';
	return device.neededMB > device.freeMB - device.promisedMB && freed > 0 ? 'evicts' : 'fits';
}

/** What one replica needs, and where that is known from. */
export function needInWords({ neededMB, source }: Pick<Memory, 'neededMB' | 'source'>): string {
	if (neededMB === null) return text.common.unknown;
	return `${mebibytes(neededMB)} ${text.load.plan.source(text.models.sources[source] ?? source)}`;
}

/** Whether the load fits, in words; with the model that has to go first. */
export function verdictInWords({ verdict, evicts }: Bar): string {
	return evicts === undefined ? text.load.bar.verdicts[verdict] : text.load.bar.evicts(evicts);
}

/** The parts in words, the same for the legend and for a screen reader: `weights 5.0 GiB`. */
export function partsInWords({ parts }: Bar): string[] {
	return parts.map(({ kind, mib }) => text.load.plan.part(text.load.bar[kind], mebibytes(mib)));
}

/** The bar in a few words: whether the load fits, what it takes, and what is left or lacking. */
export function shortOf(bar: Bar): string {
	const words = text.load.bar;
	const { worker, parts } = bar;
	const sum = (...kinds: PartKind[]) =>
		parts.filter(({ kind }) => kinds.includes(kind)).reduce((all, { mib }) => all + mib, 0);
	const found = [
		[words.needed, sum('weights', 'cache', 'other', 'needed')],
		[words.lacking, sum('lacking')],
		[words.free, sum('free')]
	] as const;
	const shown = found.filter(([, mib]) => mib > 0).map(([name, mib]) => text.load.plan.part(name, mebibytes(mib)));
	return words.inShort(worker, verdictInWords(bar), shown);
}

/** The whole bar in one sentence. */
export function barInWords(bar: Bar): string {
	return text.load.bar.sentence(bar.worker, verdictInWords(bar), partsInWords(bar), mebibytes(bar.total));
}
