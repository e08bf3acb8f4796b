import { afterEach, expect, it, vi } from 'vitest';
import { api } from '$lib/api/client';
import { readSession } from '$lib/services/session';

afterEach(() => vi.restoreAllMocks());

function answered(status: number, error: unknown): void {
	vi.spyOn(api, 'GET').mockResolvedValue({ error, response: new Response(null, { status }) } as never);
}

it('the reading of a session returns the message of a refusal', async () => {
	answered(503, { error: { code: 'storage_unavailable', message: 'the shared store (Redis) is loading its data' } });
	expect(await readSession()).toBe('the shared store (Redis) is loading its data');
});

it('the reading of a session returns null when a proxy answers in place of the platform', async () => {
	answered(502, '<html>');
	expect(await readSession()).toBeNull();
});

it('the reading of a session returns null when nothing answers', async () => {
	vi.spyOn(api, 'GET').mockRejectedValue(new TypeError('failed'));
	expect(await readSession()).toBeNull();
});
