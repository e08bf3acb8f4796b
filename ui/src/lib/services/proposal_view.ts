import type { Comparison, Proposal } from '$lib/services/proposals';
import { text } from '$lib/text';

/** What a proposal would do, made ready to be shown: pure functions. Its values are texts of others. */

type Json = Record<string, unknown>;

/** A row of a comparison: the same thing now and afterwards, as texts. */
export interface Difference {
	name: string;
	now: string;
	afterwards: string;
}

const words = text.approvals;

/** What a proposal is about: the model, the tenant, the key; an approver types it to confirm. */
export function subjectOf({ operation, body, plan }: Proposal): string {
	if (operation === 'model-add') return first(plan['modelId'], body['source']);
	if (operation === 'access-change') return first(plan['subject'], body['name'], body['tenant'], body['id'], body['change']);
	return first(body['modelId'], body['name'], body['tag'], body['tenantId'], body['scope']);
}

/** Who has proposed it: a person with the name that the audit has for it, or a tenant. */
export function proposerOf({ proposer: { actor, person } }: Proposal): string {
	return person ? `${person.name} (${actor})` : actor;
}

function first(...values: unknown[]): string {
	return values.find((value): value is string => typeof value === 'string' && value !== '') ?? text.common.unknown;
}

/** Whether nothing changes the proposal any more. */
export function hasEnded({ status }: Proposal): boolean {
	return status !== 'open' && status !== 'approved';
}

/** A value as people read it: a text as it is, another value as JSON. */
export function shown(value: unknown): string {
	if (value === undefined) return words.absent;
	return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The members of an object of the platform's answer; none if it is none. */
export function members(value: unknown): [string, unknown][] {
	return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}

/** The plan's values that have a place of their own on the page. */
export function planOf(proposal: Proposal) {
	return proposal.plan as {
		modelId?: string;
		begins?: boolean;
		problem?: { code: string; message: string } | null;
		state?: string;
		replicas?: number;
		workers?: string[];
		memory?: { neededMB: number; source: string; devices: Device[] };
		evicts?: Drained | null;
		eta?: number | null;
		definition?: Json;
		override?: Json;
		files?: Json;
		downloads?: string | null;
		models?: string[];
		runningRequests?: number;
		waitingRequests?: number;
		freesMB?: number;
		source?: string;
		download_bytes?: number;
		configuration?: Json;
		fit?: { reason: string };
		artifacts?: string[];
		covers?: Json;
		detail?: Json;
	};
}

interface Device {
	worker: string;
	totalMB: number | null;
	freeMB: number | null;
	promisedMB: number;
	freedByEvictionMB: number | null;
}

interface Drained {
	modelId: string;
	state: string;
	runningRequests: number;
	waitingRequests: number;
	freesMB: number;
}

/** What differs between now and afterwards; how many options stay as they are; and whether there was anything to compare. */
interface Differences {
	rows: Difference[];
	same: number;
	isCompared: boolean;
}

/** What these do is no change of what runs. */
const UNCOMPARED: readonly string[] = ['cache-flush', 'model-add', 'model-remove'];

/** What differs between what runs now and what the proposal leads to. */
export function differencesOf(proposal: Proposal, comparison: Comparison): Differences {
	if (proposal.operation === 'access-change') return accessDifferences(proposal);
	const plan = planOf(proposal);
	if (UNCOMPARED.includes(proposal.operation)) return { rows: [], same: 0, isCompared: false };
	// a dynamic model is not there before its load, and the one that it evicts is
	const now = comparison.models.find((model) => model.modelId === plan.modelId);
	const rows: (Difference & { isOption?: boolean })[] = [];
	const isLoad = proposal.operation === 'model-load';
	const before = now ? now.state : words.notThere;
	rows.push({ name: words.state, now: before, afterwards: isLoad ? words.loaded : words.notLoaded });
	rows.push({ name: words.replicas, now: shown(now?.replicas ?? 0), afterwards: shown(isLoad ? plan.replicas : 0) });
	if (isLoad) {
		const { options: newOptions, ...newRest } = (plan.definition ?? {}) as Json;
		const { options: oldOptions, ...oldRest } = (now?.definition ?? {}) as Json;
		rows.push(...pairs(oldRest, newRest), ...pairs(oldOptions, newOptions).map((row) => ({ ...row, isOption: true })));
	}
	const differing = rows.filter((row) => row.now !== row.afterwards);
	const same = rows.filter((row) => row.isOption && row.now === row.afterwards).length;
	return { rows: differing, same, isCompared: true };
}

function pairs(before: unknown, after: unknown): Difference[] {
	const old = new Map(members(before));
	const fresh = new Map(members(after));
	const names = [...new Set([...old.keys(), ...fresh.keys()])].sort();
	return names.map((name) => ({ name, now: shown(old.get(name)), afterwards: shown(fresh.get(name)) }));
}

/** A tenant's or a key's record as it was planned, beside the fields that are set. */
function accessDifferences(proposal: Proposal): Differences {
	const record = members(planOf(proposal).covers).find(([, value]) => typeof value === 'object' && value !== null)?.[1];
	const stored = new Map(members(record).flatMap(([name, value]) => [[name, value] as const, ...members(value)]));
	const set = members(proposal.body['values']);
	return {
		rows: set.map(([name, value]) => ({ name, now: shown(stored.get(name)), afterwards: shown(value) })),
		same: 0,
		isCompared: set.length > 0 // what is removed has no values
	};
}
