import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';

export type PastChange = components['schemas']['ChangeList']['data'][number];

/** So many proposals are counted; more are shown as "at least". */
export const MOST_PROPOSALS = 100;
const LATEST_CHANGES = 10;

/** The latest changes of models and proposals, the newest first. Raises `ApiProblem`. */
export async function readChanges(): Promise<PastChange[]> {
	return (await call(api.GET('/v1/admin/changes', { params: { query: { limit: LATEST_CHANGES } } }))).data;
}

/** How many proposals wait for signatures; 0 for a session that may not read them. Raises `ApiProblem`. */
export async function countProposals(mayRead: boolean): Promise<number> {
	if (!mayRead) return 0;
	const query = { status: 'open' as const, limit: MOST_PROPOSALS };
	return (await call(api.GET('/v1/governance/proposals', { params: { query } }))).data.length;
}
