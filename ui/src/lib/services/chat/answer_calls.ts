import { pathPart } from '$lib/api/client';
import { sendRaw } from '$lib/api/raw';
import { language } from '$lib/chat_text/language.svelte';
import { ApiProblem, problemOf } from '$lib/services/call';
import type { QueuePlace } from './live_state';
import type { ResponseObject } from './response';

/** How far the stream of an answer is. */
export interface StreamState {
	conversation_id: string;
	is_done: boolean;
	total_bytes: number;
}

/** A call with a JSON answer. Raises `ApiProblem`. */
export async function callJson(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
	let response: Response;
	try {
		response = await sendRaw(method, path, { ...(body !== undefined && { body: JSON.stringify(body) }), signal });
	} catch (error) {
		if (signal?.aborted) throw error;
		throw new ApiProblem(0, 'unreachable', language.text.common.unreachable);
	}
	const answer = await response.json().catch(() => undefined);
	if (!response.ok) throw problemOf(response, answer);
	return answer;
}

/** A response as it is now. Raises `ApiProblem`: 404 if it is not kept any more. */
export async function readResponse(id: string, signal?: AbortSignal): Promise<ResponseObject> {
	return (await callJson('GET', `/v1/responses/${pathPart(id)}`, undefined, signal)) as ResponseObject;
}

/** End a response. Returns it, mostly with its end. Raises `ApiProblem`. */
export async function cancelResponse(id: string): Promise<ResponseObject> {
	return (await callJson('POST', `/v1/responses/${pathPart(id)}/cancel`)) as ResponseObject;
}

/** Let the platform forget a response. Raises `ApiProblem`: 404 if it has done so before. */
export async function deleteResponse(id: string): Promise<void> {
	await callJson('DELETE', `/v1/responses/${pathPart(id)}`);
}

/** End whatever a message's id has begun, also what has no response yet. Raises `ApiProblem`. */
export async function endStream(id: string): Promise<void> {
	await callJson('DELETE', `/v1/stream/${pathPart(id)}`);
}

/** How far the streams of these messages are; those that are not known are left out. Raises `ApiProblem`. */
export async function lookUp(ids: string[]): Promise<StreamState[]> {
	return (await callJson('POST', '/v1/streams/lookup', { conversation_ids: ids })) as StreamState[];
}

/** Where a response stands in the queue. Raises `ApiProblem`. */
export async function readPlace(id: string, signal: AbortSignal): Promise<QueuePlace & { status: string }> {
	return placeOf((await callJson('GET', `/v1/queue/${pathPart(id)}`, undefined, signal)) as Record<string, unknown>);
}

/** The place of an answer of the API. */
export function placeOf(found: Record<string, unknown>): QueuePlace & { status: string } {
	const reason = typeof found.reason === 'string' ? found.reason : null;
	const loading = (found.loading ?? {}) as { progress?: unknown; eta_s?: unknown };
	const inWords = /(\d+) ?%/.exec(reason ?? '');
	const percent = numberOf(loading.progress);
	return {
		status: String(found.status),
		position: numberOf(found.position),
		isEstimate: found.positionIsEstimate === true,
		estimateMs: numberOf(found.estimatedWaitMs),
		cause: typeof found.cause === 'string' ? found.cause : null,
		reason,
		loadPercent: percent !== null ? Math.round(percent * 100) : inWords ? Number(inWords[1]) : null,
		loadMs: numberOf(loading.eta_s) === null ? null : Number(loading.eta_s) * 1_000
	};
}

function numberOf(value: unknown): number | null {
	return typeof value === 'number' ? value : null;
}
