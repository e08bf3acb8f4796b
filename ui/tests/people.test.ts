import { expect, test } from 'vitest';
import { landingOf, returnAddress } from '../src/lib/pages';
import { detailOf, OWN_SESSION_TABLE, ownerOf, SESSION_TABLE, type BrowserSession } from '../src/lib/services/browser_sessions';
import { providerAnswer, type Session } from '../src/lib/services/session';
import { rowsOf, viewOf } from '../src/lib/services/table';
import { tenantOf } from '../src/lib/stores/chat/platform.svelte';
import { text } from '../src/lib/text';

const of_key: BrowserSession = {
	id: 'a',
	object: 'browser_session',
	person: null,
	subject: null,
	key: 'key_1',
	tenant: 'acme',
	has_admin_part: false,
	address: '10.0.0.1',
	user_agent: 'Firefox',
	created_at: 1,
	last_used_at: 5,
	is_current: false
};
const of_person: BrowserSession = {
	...of_key,
	id: 'b',
	key: null,
	subject: 'id-of-vera',
	person: { id: 'person_1', name: 'Vera Viewer', email: null, roles: ['viewer'] },
	last_used_at: 9
};

test('the address has the answer of the provider only with a state', () => {
	expect(providerAnswer('?state=s&code=c&iss=https%3A%2F%2Fp.example&session_state=x')).toEqual({
		state: 's',
		code: 'c',
		iss: 'https://p.example'
	});
	expect(providerAnswer('?error=access_denied&state=s')).toEqual({ state: 's', error: 'access_denied' });
	expect(providerAnswer('?code=c')).toBeUndefined();
	expect(providerAnswer('?to=/admin/models')).toBeUndefined();
});

test('a session names its person or its key', () => {
	expect([ownerOf(of_person), detailOf(of_person)]).toEqual(['Vera Viewer', 'id-of-vera']);
	expect([ownerOf(of_key), detailOf(of_key)]).toEqual(['key_1', null]);
	expect(ownerOf({ ...of_key, key: null })).toBe(text.sessions.unknownKey);
	expect(OWN_SESSION_TABLE.columns.map(({ id }) => id)).toEqual(['owner', 'address', 'browser', 'created', 'used', 'actions']);
	expect(rowsOf([of_key, of_person], viewOf('', SESSION_TABLE), SESSION_TABLE).map(({ id }) => id)).toEqual(['b', 'a']);
});

test('the reason of a disabled action names the role of a person and the scope of a key', () => {
	expect(text.session.mayNot('operate', ['viewer'])).toContain('operator or admin');
	expect(text.session.mayNot('operate', [])).toContain('scope operate');
});

test('the reason of a missing page names the role of a person, the scope of a key, or that the time is over', () => {
	expect(text.session.rightMissing('admin', ['viewer'], false)).toBe('This page needs the role admin; you have viewer.');
	expect(text.session.rightMissing('admin', [], false)).toBe('This page needs a key with the scope admin.');
	expect(text.session.rightMissing('read', ['viewer'], true)).toContain('Sign in again');
});

test.each([
	['/admin/models', ['inference', 'read'], '/admin/models'],
	['/admin/model?name=org%2Fslow', ['inference', 'read'], '/admin/model?name=org%2Fslow'],
	['/admin/add?source=a/b:c&x={"d"}', ['inference', 'read'], '/admin/add?source=a%2Fb%3Ac&x=%7B%22d%22%7D'],
	['/admin/sessions?q=x', ['inference', 'read', 'operate'], '/admin'],
	['/admin/sessions?q=x', ['inference', 'read', 'admin'], '/admin/sessions?q=x'],
	['/admin/model?name=stub', ['inference'], '/account'],
	['/admin/unknown?name=stub', ['inference', 'read'], '/admin'],
	['/account', ['inference'], '/account'],
	['/', ['inference', 'read'], '/'],
	['/unknown?x=y', ['inference', 'read'], '/'],
	['https://evil.example/admin/models', ['inference', 'read'], '/'],
	['//evil.example/admin/models', ['inference', 'read'], '/'],
	['/\\evil.example/admin/models', ['inference', 'read'], '/'],
	['javascript:alert(1)', ['inference', 'read'], '/'],
	['https://', ['inference', 'read'], '/']
])('a sign-in for %s with the scopes %j leads to %s', (wanted, scopes, landing) => {
	const { route, query } = landingOf(wanted, scopes);
	expect(route + query).toBe(landing);
});

test('a sign-in by the provider returns to a page with its query, unless that is too long', () => {
	expect(returnAddress('/admin/model?name=org/slow')).toBe('/admin/model?name=org%2Fslow');
	expect(returnAddress(`/admin/approvals?body=${'x'.repeat(1_024)}`)).toBe('/admin/approvals');
	expect(returnAddress('//evil.example')).toBe('/');
});

test('conversations on the platform are shown to sessions of the same person, or of the tenant of a key', () => {
	const of = (id: string | null, more: Partial<Session> = {}) => {
		const person = id === null ? null : { id, name: 'Vera Viewer', email: null, roles: ['viewer'] };
		const signed = { signed_in: true, open: false, tenant: 'acme', scopes: ['inference'], key_scopes: ['inference'] };
		return tenantOf({ ...signed, person, provider: null, version: null, flower_url: null, ...more } as Session);
	};
	expect(of(null)).toBe('acme');
	expect(of(null, { open: true, tenant: null })).toBe('');
	expect(of('person_1')).toBe(of('person_1'));
	expect(new Set([of(null), of('person_1'), of('person_2'), of('person_1', { tenant: 'other' })]).size).toBe(4);
	expect(of('person_1', { scopes: [] })).toBeNull();
});
