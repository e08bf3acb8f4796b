import { expect, test } from 'vitest';
import { differencesOf, proposerOf } from '../src/lib/services/proposal_view';
import type { Comparison, Proposal } from '../src/lib/services/proposals';

function proposal(operation: string, body: object, plan: object): Proposal {
	return { operation, body, plan } as unknown as Proposal;
}

const beta = { modelId: 'beta', state: 'loaded', replicas: 1, definition: { backend: 'stub', options: {} } };
const comparison = { models: [beta] } as unknown as Comparison;

test('a model that does not exist yet is not compared with the one that it evicts', () => {
	const load = proposal('model-load', { modelId: 'org/new' }, { modelId: 'org/new', replicas: 1, definition: { backend: 'vllm' } });
	expect(differencesOf(load, comparison).rows).toEqual([
		{ name: 'state', now: 'does not exist', afterwards: 'loaded' },
		{ name: 'replicas', now: '0', afterwards: '1' },
		{ name: 'backend', now: '—', afterwards: 'vllm' }
	].map((row) => expect.objectContaining({ ...row, name: expect.stringMatching(new RegExp(row.name, 'i')) as string }) as unknown));
	const reload = proposal('model-load', { modelId: 'beta' }, { modelId: 'beta', replicas: 1, definition: beta.definition });
	expect(differencesOf(reload, comparison)).toEqual({ rows: [], same: 0, isCompared: true });
});

test.each([
	['access-change', { change: 'remove_tenant', name: 'acme' }],
	['access-change', { change: 'revoke_key', id: 'key_1' }],
	['cache-flush', { scope: 'all' }]
])('nothing is compared for %s without values', (operation, body) => {
	expect(differencesOf(proposal(operation, body, { covers: {} }), comparison)).toEqual({ rows: [], same: 0, isCompared: false });
});

test('a proposal names the person or the tenant that has proposed it', () => {
	const of = (proposer: object) => proposerOf({ proposer } as Proposal);
	expect(of({ actor: 'acme', person: null, tenant: 'acme', key: 'key_1' })).toBe('acme');
	expect(of({ actor: 'ada@example.com', person: { name: 'Ada' }, tenant: 'acme', key: null })).toBe('Ada (ada@example.com)');
});
