import type { AnswerError } from '$lib/chat_types';
import { errorOf } from '../response';

/** What the events of a stream of images or audio have given so far. */
export interface MediaState {
	text: string;
	/** The latest unfinished image. */
	preview: Blob | null;
	/** The finished image, or the whole recording. */
	result: Blob | null;
	size: string | null;
	error: AnswerError | null;
	isEnd: boolean;
	parts: Uint8Array<ArrayBuffer>[];
}

export const NOTHING: MediaState = { text: '', preview: null, result: null, size: null, error: null, isEnd: false, parts: [] };

/** The state after an event of a stream (docs/api.md, "Audio", "Speech", "Images"). Events of other names change nothing. */
export function readMediaEvent(state: MediaState, data: Record<string, unknown>): MediaState {
	if (data.error !== undefined) return { ...state, error: problemIn(data.error), isEnd: true };
	switch (data.type) {
		case 'transcript.text.delta':
			return { ...state, text: state.text + textOf(data.delta) };
		case 'transcript.text.done':
			return { ...state, text: textOf(data.text), isEnd: true };
		case 'image_generation.partial_image':
		case 'image_edit.partial_image':
			return { ...state, preview: imageOf(data) };
		case 'image_generation.completed':
		case 'image_edit.completed':
			return { ...state, preview: null, result: imageOf(data), size: textOf(data.size) || null, isEnd: true };
		case 'speech.audio.delta':
			return { ...state, parts: [...state.parts, bytesOf(textOf(data.audio))] };
		case 'speech.audio.done':
			return { ...state, result: new Blob(state.parts, { type: 'audio/mpeg' }), isEnd: true };
		default:
			return state;
	}
}

/** The error of a frame `{"error": {...}}`. */
function problemIn(value: unknown): AnswerError {
	const error = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
	const read = errorOf({ code: textOf(error.code), message: textOf(error.message) });
	return { ...read, param: textOf(error.param) || null };
}

function imageOf(data: Record<string, unknown>): Blob {
	const format = ['jpeg', 'webp'].find((one) => one === data.output_format) ?? 'png';
	return new Blob([bytesOf(textOf(data.b64_json))], { type: `image/${format}` });
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
	return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
}

function textOf(value: unknown): string {
	return typeof value === 'string' ? value : '';
}
