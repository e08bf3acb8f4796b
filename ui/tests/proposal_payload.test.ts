import { expect, test } from 'vitest';
import { checkedPayload, NotSigned, payloadOf, signatureOf } from '../src/lib/services/proposal_payload';
import { importSigningKey } from '../src/lib/services/signing_key';
import { bytes, vectors } from './vectors';

test('a signature is the one that the platform makes with the same key', async () => {
	const key = await importSigningKey(bytes(vectors.keys.pem));
	for (const { proposal, signature } of vectors.proposals) {
		const payload = await checkedPayload(proposal, proposal.id, proposal.payload);
		expect(new TextDecoder().decode(payload)).toBe(proposal.payload);
		expect(await signatureOf(payload, key)).toBe(signature);
	}
});

type Proposal = Parameters<typeof checkedPayload>[0];
const [first, second] = vectors.proposals.map((vector) => vector.proposal) as [Proposal, Proposal];
const { id, plan } = first;

const changes: [string, object, NotSigned['reason']][] = [
	['another body', { body: { modelId: 'other' } }, 'otherPayload'],
	['another plan', { plan: second.plan }, 'otherPlan'],
	['a plan that covers less', { plan: { ...plan, covers: {} } }, 'otherPlan'],
	['another operation', { operation: 'model-unload' }, 'otherPlan'],
	['another id', { id: 'proposal_1' }, 'otherProposal'],
	['another platform', { runner_id: 'runner_2' }, 'otherPayload'],
	['another end', { expires_at: 1_900_000_000 }, 'otherPayload'],
	['another text to sign', { payload: second.payload }, 'otherPayload'],
	['a number beyond 2^53', { body: { modelId: 'x', maxContextLength: 2 ** 60 } }, 'noForm']
];
test.each(changes)('nothing is signed when the answer has %s', async (_, change, reason) => {
	await expect(checkedPayload({ ...first, ...change }, id, first.payload)).rejects.toThrow(new NotSigned(reason));
});

test('nothing is signed when the whole answer is another one than the signer has read', async () => {
	const other = { ...first, body: { modelId: 'other' } };
	other.payload = await payloadOf(other);
	expect(await checkedPayload(other, id, other.payload)).toBeDefined();
	await expect(checkedPayload(other, id, first.payload)).rejects.toThrow(new NotSigned('changed'));
});
