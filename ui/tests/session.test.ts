import { beforeEach, expect, test, vi } from 'vitest';
import { session } from '../src/lib/stores/session.svelte';

const IN = { signed_in: true, open: false, scopes: ['read'] };
const OUT = { signed_in: false, open: false, scopes: [] };

const { answer } = vi.hoisted(() => ({ answer: vi.fn<() => Promise<object>>() }));
vi.mock('../src/lib/api/client', () => ({ API_ROOT: '/stoker', api: { GET: answer, POST: answer, DELETE: answer } }));

/** Read the session as the API answers it; null: it does not answer. Returns whether it has ended. */
async function read(found: object | null): Promise<boolean> {
	answer.mockImplementation(() => (found ? Promise.resolve({ data: found, response: new Response() }) : Promise.reject(new TypeError())));
	await session.read();
	return session.hasEnded;
}

beforeEach(() => read(IN));

test('a session has ended when it was there, also if the API did not answer meanwhile, until the next sign-in', async () => {
	expect(await read(IN)).toBe(false);
	expect(await read(OUT)).toBe(true);
	expect(await read(OUT)).toBe(true);
	expect(await read(IN)).toBe(false);
	expect(await read(null)).toBe(false);
	expect(await read(OUT)).toBe(true);
	answer.mockResolvedValue({ data: IN });
	expect(await session.begin({ key: 'k', admin: true })).toBeUndefined();
	expect(session.hasEnded).toBe(false);
});

test('a session that its own button ends is not reported as ended', async () => {
	answer.mockResolvedValue({ data: OUT, response: new Response() });
	expect(await session.end()).toBe(true);
	expect(session.hasEnded).toBe(false);
	expect(await read(OUT)).toBe(false);
});

test('a refused sign-in by the provider has the page and the admin part that it wanted', async () => {
	const error = { message: 'you have no role here', type: 'permission_error', code: 'no_role', param: null };
	answer.mockResolvedValue({ error: { error: { ...error, to: '/admin/models?q=a', admin: false } } });
	expect(await session.begin({ oidc: { state: 's' } })).toEqual({ message: error.message, to: '/admin/models?q=a', admin: false });
	answer.mockResolvedValue({ error: { error } });
	expect(await session.begin({ key: 'k', admin: true })).toEqual({ message: error.message });
});
