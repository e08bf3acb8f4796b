/** Asks for images or audio, and keeps what comes: the part of an answer's run that only such models need. */
import { sendRaw } from '$lib/api/raw';
import { language } from '$lib/chat_text/language.svelte';
import type { AnswerMessage, Attachment } from '$lib/chat_types';
import { problemOf } from '$lib/services/call';
import type { AnswerListener } from '$lib/services/chat/answer_reader';
import type { LiveState } from '$lib/services/chat/live_state';
import { placeIn, workIn } from '$lib/services/chat/media/comments';
import { NOTHING, readMediaEvent, type MediaState } from '$lib/services/chat/media/media_events';
import { bodyOf, type MediaRequest } from '$lib/services/chat/media/media_request';
import { SseEvents } from '$lib/services/chat/media/sse_events';
import { newId } from '$lib/services/chat/new_records';
import { attachmentsOf, keepIfRoom } from '../attachments';

/** The API sends a comment every 15 s: a stream that is silent for so long is dead. */
const SILENCE_MS = 45_000;

/** What is known only while it runs. */
export type MediaLive = Pick<LiveState, 'place' | 'work' | 'preview'>;

/**
 * One attempt: send the request, and read its stream to the end. A repeat of the same answer gets the same response from its
 * begin. `lost`: the files of the request are not in this browser. Raises `ApiProblem` for a refusal, another error without
 * an answer.
 */
export async function readMedia(
	answer: AnswerMessage,
	requestText: string,
	listener: AnswerListener,
	signal: AbortSignal,
	tell: (answer: AnswerMessage, live: MediaLive) => void
): Promise<'ended' | 'cut' | 'lost'> {
	const request = JSON.parse(requestText) as MediaRequest;
	const { body, isWhole } = bodyOf(request, await attachmentsOf(request.files.map(({ attachment }) => attachment)));
	if (!isWhole) return 'lost';
	const stop = new AbortController();
	const onAbort = (): void => stop.abort();
	if (signal.aborted) stop.abort();
	signal.addEventListener('abort', onAbort);
	try {
		const headers = { Accept: 'text/event-stream', 'X-Conversation-Id': answer.id, 'Idempotency-Key': answer.id };
		const response = await sendRaw('POST', `${request.path}?autoload=true`, { body, headers, signal: stop.signal });
		listener.head(response);
		if (!response.ok || !response.body) throw problemOf(response, await response.json().catch(() => undefined));
		listener.connection('open');
		const runsAtOnce = response.headers.get('X-Queue-Wait-Ms') === '0';
		return await readStream({ ...answer, status: runsAtOnce ? 'running' : 'waiting' }, request, response.body, stop, tell);
	} finally {
		signal.removeEventListener('abort', onAbort);
		stop.abort();
	}
}

async function readStream(
	asked: AnswerMessage,
	request: MediaRequest,
	stream: ReadableStream<Uint8Array>,
	stop: AbortController,
	tell: (answer: AnswerMessage, live: MediaLive) => void
): Promise<'ended' | 'cut'> {
	let answer = asked;
	let state = NOTHING;
	let live: MediaLive = { place: null, work: null, preview: null };
	tell(answer, live);
	const events = new SseEvents();
	const decoder = new TextDecoder();
	const reader = stream.getReader();
	for (;;) {
		const timer = setTimeout(() => stop.abort(), SILENCE_MS);
		const { done, value } = await reader.read().finally(() => clearTimeout(timer));
		if (done) return 'cut';
		for (const event of events.push(decoder.decode(value, { stream: true }))) {
			if ('comment' in event) {
				const place = placeIn(event.comment);
				const work = workIn(event.comment);
				if (place) [answer, live] = [{ ...answer, status: 'waiting' }, { ...live, place }];
				if (work) [answer, live] = [{ ...answer, status: 'running' }, { ...live, place: null, work }];
			} else {
				state = readMediaEvent(state, event.data);
				answer = { ...answer, status: 'running', text: state.text };
				live = { ...live, place: null, preview: state.preview };
			}
			if (!state.isEnd) continue;
			tell(await finished(answer, request, state), live);
			return 'ended';
		}
		tell(answer, live);
	}
}

/** The answer at its end, with what the model has made in the storage. */
async function finished(answer: AnswerMessage, request: MediaRequest, state: MediaState): Promise<AnswerMessage> {
	if (state.error) return { ...answer, status: 'failed', error: state.error };
	if (!state.result || !answer.media) return { ...answer, status: 'done' };
	const made = attachmentOf(answer, state.result, request);
	const isStored = await keepIfRoom(made);
	const media = { ...answer.media, attachments: [made.id], size: state.size, ...(!isStored && { isUnstored: true }) };
	return { ...answer, status: 'done', media };
}

function attachmentOf({ conversation, media }: AnswerMessage, content: Blob, { fields }: MediaRequest): Attachment {
	const kind = media?.task === 'image' ? 'image' : 'audio';
	const ending = { 'image/jpeg': 'jpg', 'image/webp': 'webp', 'image/png': 'png' }[content.type] ?? 'mp3';
	const words = language.text.media;
	const about = String(fields.prompt ?? fields.input ?? '').replace(/[^\p{L}\p{N}]+/gu, ' ').trim().slice(0, 40).trim();
	const name = `${about || (kind === 'image' ? words.imageName : words.speechName)}.${ending}`;
	return { id: newId(), conversation, name, type: content.type, kind, bytes: content.size, content, pages: [], text: '', fileId: null };
}
