import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';

export type Alerts = components['schemas']['AlertList'];
export type Alert = components['schemas']['AlertObject'];

/** All rules with their alerts. Raises `ApiProblem`. */
export function readAlerts(): Promise<Alerts> {
	return call(api.GET('/v1/admin/alerts'));
}

/** The number of rules with an alert that fires unacknowledged. Raises `ApiProblem`. */
export async function countUnacknowledged(): Promise<number> {
	return (await readAlerts()).unacknowledged;
}

/** Acknowledge what fires of a rule, for so many hours (null: until it is resolved). Raises `ApiProblem`. */
export async function acknowledge(name: string, body: { note: string; hours: number | null }): Promise<void> {
	await call(api.POST('/v1/admin/alerts/{name}/acknowledge', { params: { path: { name } }, body }));
}

/** Take an acknowledgement back. Raises `ApiProblem`. */
export async function endAcknowledgement(name: string): Promise<void> {
	await call(api.DELETE('/v1/admin/alerts/{name}/acknowledge', { params: { path: { name } } }));
}

/** Whether a rule has an alert that fires and that no one has acknowledged. */
export function isNews({ state, acknowledged }: Alert): boolean {
	return state === 'firing' && !acknowledged;
}

/** The rules are evaluated each 15 s: so old, in seconds, an evaluation is late. */
const LATE_S = 60;

/** Whether the rules were not evaluated lately, so that what fires now is not known. */
export function isLate({ evaluated_at: at, now }: Pick<Alerts, 'evaluated_at' | 'now'>): boolean {
	return at === null || now - at > LATE_S;
}
