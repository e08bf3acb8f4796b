import type { AnswerStatus } from '$lib/chat_types';

/** Where a request stands in the queue; times in ms. */
interface Place {
	position: number | null;
	isEstimate: boolean;
	estimateMs: number | null;
	reason: string | null;
	loadPercent: number | null;
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
	| { kind: 'queue'; position: number | null; isEstimate: boolean; estimateMs: number | null }
	| { kind: 'loading'; share: number | null; estimateMs: number | null }
	| { kind: 'reading'; share: number | null }
	| { kind: 'other'; reason: string };

/**
 * What an answer without text waits for; null if it does not wait. `progress` counts the tokens of the prompt; `load` is
 * that of the model, whose end a request without an event waits for.
 */
export function waitOf(
	status: AnswerStatus,
	place: Place | null,
	progress: { total: number; processed: number } | null,
	load: { progress: number; etaSeconds: number | null } | null = null
): Wait | null {
	if (status === 'sending' && load) {
		return { kind: 'loading', share: load.progress, estimateMs: load.etaSeconds === null ? null : load.etaSeconds * 1_000 };
	}
	if (status === 'sending') return { kind: 'sending' };
	if (status === 'running') {
		return { kind: 'reading', share: progress && progress.total > 0 ? Math.min(1, progress.processed / progress.total) : null };
	}
	if (status !== 'waiting') return null;
	if (place?.reason?.startsWith('model is loading')) {
		return { kind: 'loading', share: place.loadPercent === null ? null : place.loadPercent / 100, estimateMs: place.estimateMs };
	}
	if (place?.reason && place.reason !== 'waiting for a slot') return { kind: 'other', reason: place.reason };
	return {
		kind: 'queue',
		position: place?.position ?? null,
		isEstimate: place?.isEstimate ?? false,
		estimateMs: place?.estimateMs ?? null
	};
}
