import type { ChatModel } from '$lib/services/chat/chat_models';
import type { AnswerMedia, Attachment, MediaTask, Message } from '$lib/chat_types';

/** What a person chooses for the requests to a model of images or audio; empty texts and null: nothing. */
export interface MediaChoices {
	size: string;
	quality: string;
	seed: number | null;
	voice: string;
}

export const NO_CHOICES: MediaChoices = { size: '', quality: '', seed: null, voice: '' };

/** What a model of images or audio has to choose from. */
export type Offered = Pick<ChatModel, 'task' | 'imageSizes' | 'imageQualities' | 'voices'>;

/** The choices that the model has now: it may have lost one since it was made. Without one, speech has the first voice. */
export function fittedChoices(choices: MediaChoices, model: Offered | undefined): MediaChoices {
	if (!model) return choices;
	const { imageSizes, imageQualities, voices } = model;
	const among = (value: string, offered: readonly string[]): string => (offered.includes(value) ? value : '');
	return {
		...choices,
		size: among(choices.size, imageSizes),
		quality: among(choices.quality, imageQualities),
		voice: voices.length > 0 ? among(choices.voice, voices) || (voices[0] ?? '') : choices.voice
	};
}

/** A request for images or audio, as it is kept until its end: the bytes of its files are in the storage. */
export interface MediaRequest {
	path: string;
	/** Of the JSON, or of the form if there are files. */
	fields: Record<string, string | number | boolean>;
	/** Ids of attachments, in their order. */
	files: { field: string; attachment: string }[];
}

/** How many unfinished images are shown before the finished one. */
const PREVIEWS = 2;
/** Seeds are whole numbers below it. */
export const SEEDS = 2 ** 31;
/** The first voice of a model that has no names for them. */
const FIRST_VOICE = '0';

/** A seed that no one has chosen. */
export function randomSeed(): number {
	return (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % SEEDS;
}

/** What an answer of such a model begins with. */
export function newMedia(task: MediaTask, choices: MediaChoices): AnswerMedia {
	const isImage = task === 'image';
	return { task, attachments: [], seed: isImage ? (choices.seed ?? randomSeed()) : null, size: null };
}

/**
 * The request for an answer to the last question of a conversation: what came before it is no part of it. `files` are those
 * of the question.
 */
export function mediaRequest(
	model: string,
	{ task, seed }: AnswerMedia,
	history: readonly Message[],
	files: readonly Attachment[],
	choices: MediaChoices
): MediaRequest {
	const text = questionOf(history)?.text ?? '';
	if (task === 'speech') {
		const fields = { model, input: text, voice: choices.voice || FIRST_VOICE, response_format: 'mp3', stream_format: 'sse' };
		return { path: '/v1/audio/speech', fields, files: [] };
	}
	if (task === 'transcription') {
		const recording = files.filter(({ kind }) => kind === 'audio').slice(0, 1);
		const fields = { model, stream: true, ...(text.trim() !== '' && { prompt: text }) };
		return { path: '/v1/audio/transcriptions', fields, files: recording.map(({ id }) => ({ field: 'file', attachment: id })) };
	}
	const images = files.filter(({ kind }) => kind === 'image');
	const fields = {
		model,
		prompt: text,
		...(choices.size !== '' && { size: choices.size }),
		...(choices.quality !== '' && { quality: choices.quality }),
		...(seed !== null && { seed }),
		stream: true,
		partial_images: PREVIEWS
	};
	const field = images.length > 1 ? 'image[]' : 'image';
	return {
		path: images.length > 0 ? '/v1/images/edits' : '/v1/images/generations',
		fields,
		files: images.map(({ id }) => ({ field, attachment: id }))
	};
}

/** The question that an answer at the end of this history has. */
export function questionOf(history: readonly Message[]) {
	return history.findLast((message) => message.role === 'user');
}

/** The body of a request, JSON or a form, with the files that are at hand. */
export function bodyOf(request: MediaRequest, files: readonly Attachment[]): { body: string | FormData; isWhole: boolean } {
	if (request.files.length === 0 && !request.path.endsWith('transcriptions')) return { body: JSON.stringify(request.fields), isWhole: true };
	const form = new FormData();
	for (const [name, value] of Object.entries(request.fields)) form.append(name, String(value));
	let isWhole = request.files.length > 0;
	for (const { field, attachment } of request.files) {
		const file = files.find(({ id }) => id === attachment);
		if (file) form.append(field, file.content, file.name);
		else isWhole = false;
	}
	return { body: form, isWhole };
}
