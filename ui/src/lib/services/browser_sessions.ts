import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';
import type { TableModel } from '$lib/services/table';
import { text } from '$lib/text';

export type BrowserSession = components['schemas']['BrowserSession'];

/** Those that were used last, and the number of all. */
export type SessionList = Pick<components['schemas']['BrowserSessionList'], 'data' | 'total'>;

/** The sessions of all, the one that was used last first. Raises `ApiProblem`. */
export async function readSessions(): Promise<SessionList> {
	return await call(api.GET('/v1/admin/sessions'));
}

/** Those of the same person or the same key. Raises `ApiProblem`. */
export async function readOwnSessions(): Promise<SessionList> {
	return await call(api.GET('/v1/account/sessions'));
}

/** End a session of the same person or the same key. Raises `ApiProblem`. */
export async function endOwnSession(id: string): Promise<void> {
	await call(api.DELETE('/v1/account/sessions/{id}', { params: { path: { id } } }));
}

/** End a session. Raises `ApiProblem`. */
export async function endSession(id: string): Promise<void> {
	await call(api.DELETE('/v1/admin/sessions/{id}', { params: { path: { id } } }));
}

/** The person, or the key of a session. */
export function ownerOf({ person, key }: BrowserSession): string {
	return person?.name ?? key ?? text.sessions.unknownKey;
}

/** Whose session it is in full: of a person also the address, or what identifies it at the provider. */
export function detailOf({ person, subject }: BrowserSession): string | null {
	return person === null ? null : (person.email ?? subject);
}

const titles = text.sessions.columns;

export const SESSION_TABLE: TableModel<BrowserSession> = {
	columns: [
		{ id: 'owner', title: titles.owner, value: ownerOf, shown: 'always', card: 'name' },
		{ id: 'roles', title: titles.roles, value: ({ person }) => person?.roles.join(', ') ?? '', card: 'fact' },
		{ id: 'tenant', title: titles.tenant, value: ({ tenant }) => tenant ?? '', card: 'fact' },
		{ id: 'address', title: titles.address, value: ({ address }) => address },
		{ id: 'browser', title: titles.browser },
		{ id: 'created', title: titles.created, value: ({ created_at }) => created_at, isLargestFirst: true },
		{ id: 'used', title: titles.used, value: ({ last_used_at }) => last_used_at, isLargestFirst: true, card: 'fact' },
		{ id: 'actions', title: titles.actions, shown: 'always', card: 'action' }
	],
	filters: [],
	searched: (session) => [ownerOf(session), detailOf(session) ?? '', session.tenant ?? '', session.address],
	key: ({ id }) => id,
	sort: 'used',
	isDescending: true
};

/** The sessions of one person or one key. */
export const OWN_SESSION_TABLE: TableModel<BrowserSession> = {
	...SESSION_TABLE,
	columns: SESSION_TABLE.columns.filter(({ id }) => id !== 'tenant' && id !== 'roles')
};
