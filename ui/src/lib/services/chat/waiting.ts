import type { AnswerStatus } from '$lib/chat_types';

/** Where a request stands, as `GET /v1/queue/{id}` says it; times in ms. */
export interface QueuePlace {
	position: number | null;
	positionIsEstimate?: boolean | null;
	queueDepth?: number | null;
	estimatedWaitMs: number | null;
	reason: string | null;
}

/** How much of the prompt has been read: tokens. */
export interface PromptProgress {
	done: number;
	total: number;
}

/**
 * What an answer waits for. `share` is from 0 to 1, null while it is not known.
 * - `sending`: no event has come
 * - `queue`: a slot; 1 is the next
 * - `loading`: the model is loading
 * - `reading`: the engine reads the prompt
 * - `other`: a reason in the platform's words
 */
export type Wait =
	| { kind: 'sending' }
	| { kind: 'queue'; position: number | null; isEstimate: boolean; depth: number | null; estimateMs: number | null }
	| { kind: 'loading'; share: number | null; estimateMs: number | null }
	| { kind: 'reading'; share: number | null }
	| { kind: 'other'; reason: string };

const LOADING = /^model is loading(?: (\d{1,3}) ?%)?/;

/** What an answer without text waits for; null if it does not wait. */
export function waitOf(status: AnswerStatus, place: QueuePlace | null, progress: PromptProgress | null): Wait | null {
	if (status === 'sending') return { kind: 'sending' };
	if (status === 'running') {
		return { kind: 'reading', share: progress && progress.total > 0 ? Math.min(1, progress.done / progress.total) : null };
	}
	if (status !== 'waiting') return null;
	const loading = place?.reason?.match(LOADING);
	if (loading) {
		return {
			kind: 'loading',
			share: loading[1] === undefined ? null : Math.min(1, Number(loading[1]) / 100),
			estimateMs: place?.estimatedWaitMs ?? null
		};
	}
	if (place?.reason && place.reason !== 'waiting for a slot') return { kind: 'other', reason: place.reason };
	return {
		kind: 'queue',
		position: place?.position ?? null,
		isEstimate: place?.positionIsEstimate ?? false,
		depth: place?.queueDepth ?? null,
		estimateMs: place?.estimatedWaitMs ?? null
	};
}
