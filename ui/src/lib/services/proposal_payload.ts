import type { components } from '$lib/api/schema';
import { canonical, NotCanonical, sha256, toBase64 } from '$lib/services/canonical';

type Proposal = components['schemas']['ProposalObject'];

const PREFIX = 'stoker-proposal-v1\n';

/** Why nothing is signed: what is shown is not what the signature would cover. */
export type Mismatch = 'otherProposal' | 'otherPlan' | 'otherPayload' | 'changed' | 'noForm';

export class NotSigned extends Error {
	constructor(readonly reason: Mismatch) {
		super(reason);
	}
}

/**
 * The bytes to sign for a proposal, made here from the body and the plan that the page shows. The platform's own text
 * (`payload`) has to be the same. `id` is that of the proposal that the signer means, `reviewed` the payload when the signer
 * began to read: a platform that lies may answer with another one later. Raises `NotSigned`.
 */
export async function checkedPayload(proposal: Proposal, id: string, reviewed: string): Promise<Uint8Array<ArrayBuffer>> {
	try {
		if (proposal.id !== id) throw new NotSigned('otherProposal');
		const isSamePlan = (await sha256(canonical(proposal.plan['covers']))) === proposal.plan_digest;
		if (!isSamePlan || proposal.plan['operation'] !== proposal.operation) throw new NotSigned('otherPlan');
		const payload = await payloadOf(proposal);
		if (payload !== proposal.payload) throw new NotSigned('otherPayload');
		if (payload !== reviewed) throw new NotSigned('changed');
		return new TextEncoder().encode(payload);
	} catch (error) {
		if (error instanceof NotCanonical) throw new NotSigned('noForm');
		throw error;
	}
}

/** The text that a signature of this proposal covers, with the digest of the body that is shown. Raises `NotCanonical`. */
export async function payloadOf(proposal: Proposal): Promise<string> {
	const members = {
		operation: proposal.operation,
		proposal: proposal.id,
		body: await sha256(canonical(proposal.body)),
		plan: proposal.plan_digest,
		runner: proposal.runner_id,
		expiresAt: proposal.expires_at
	};
	return PREFIX + canonical(members);
}

/** An Ed25519 signature as base64. */
export async function signatureOf(payload: Uint8Array<ArrayBuffer>, key: CryptoKey): Promise<string> {
	return toBase64(new Uint8Array(await crypto.subtle.sign('Ed25519', key, payload)));
}
