import { api } from '$lib/api/client';
import { apiAddress } from '$lib/api/raw';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';

export type Proposal = components['schemas']['ProposalObject'];
export type Comparison = components['schemas']['ProposalComparison'];
export type ProposalPage = components['schemas']['ProposalList'];
export type ProposalStatus = Proposal['status'];
export type ProposedOperation = Proposal['operation'];

/** So many proposals may be open at a time. */
const MOST_OPEN = 500;
const AT_ONCE = 100;
const PAGE = 20;

/** All proposals that wait for signatures or for their start, the latest first. */
export async function readWaiting(): Promise<Proposal[]> {
	const [open, approved] = await Promise.all([readAll('open'), readAll('approved')]);
	return [...approved, ...open];
}

async function readAll(status: ProposalStatus): Promise<Proposal[]> {
	const found: Proposal[] = [];
	let cursor: string | undefined;
	do {
		const page = await readPage(status, cursor, AT_ONCE);
		found.push(...page.data);
		cursor = page.next_cursor ?? undefined;
	} while (cursor !== undefined && found.length < MOST_OPEN);
	return found;
}

/** How many proposals wait for signatures or their start. */
export async function countWaiting(): Promise<number> {
	return (await readPage('open', undefined, 1)).waiting;
}

/** A page of the proposals, the latest first. It may be empty and not the last. */
export function readPage(status: ProposalStatus | undefined, cursor: string | undefined, limit = PAGE): Promise<ProposalPage> {
	const query = { limit, ...(status && { status }), ...(cursor && { cursor }) };
	return call(api.GET('/v1/governance/proposals', { params: { query } }));
}

export function readProposal(id: string): Promise<Proposal> {
	return call(api.GET('/v1/governance/proposals/{id}', { params: { path: { id } } }));
}

/** A proposal that waits, beside what runs now. */
export function readComparison(id: string): Promise<Comparison> {
	return call(api.GET('/v1/governance/proposals/{id}/comparison', { params: { path: { id } } }));
}

/** Add a signature (base64); the proposal as it is then. */
export function sendSignature(id: string, signer: string, signature: string): Promise<Proposal> {
	const body = { signer, signature };
	return call(api.POST('/v1/governance/proposals/{id}/signatures', { params: { path: { id } }, body }));
}

export function withdrawProposal(id: string): Promise<Proposal> {
	return call(api.DELETE('/v1/governance/proposals/{id}', { params: { path: { id } } }));
}

export function propose(operation: ProposedOperation, body: Record<string, unknown>): Promise<Proposal> {
	return call(api.POST('/v1/governance/proposals', { body: { operation, body } }));
}

/** The command that signs a proposal on the signer's machine. */
export function approveCommand(id: string, signer: string): string {
	return `stoker op approve ${id} --key ${signer || 'SIGNER'}.pem --url ${apiAddress()}`;
}

/** The part of an address that opens the form for a proposal, with its fields filled. */
export function proposalQuery(operation: ProposedOperation, body: Record<string, unknown>): string {
	return `?${new URLSearchParams({ propose: operation, body: JSON.stringify(body) })}`;
}
