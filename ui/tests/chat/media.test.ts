import { describe, expect, test } from 'vitest';
import type { Attachment } from '../../src/lib/chat_types';
import { clockTime, problemOf } from '../../src/lib/services/audio/recorder';
import { SAMPLE_RATE, wavOf } from '../../src/lib/services/audio/wav';
import { chatModel, gateOf, preferredModel, type ModelObject } from '../../src/lib/services/chat/chat_models';
import { placeIn, workIn } from '../../src/lib/services/chat/media/comments';
import { NOTHING, readMediaEvent } from '../../src/lib/services/chat/media/media_events';
import { bodyOf, fittedChoices, mediaRequest, newMedia, NO_CHOICES, SEEDS } from '../../src/lib/services/chat/media/media_request';
import { SseEvents } from '../../src/lib/services/chat/media/sse_events';
import { newAnswer, newUserMessage } from '../../src/lib/services/chat/new_records';
import { canContinue } from '../../src/lib/services/chat/turns';

const PNG = btoa('png');

function file(id: string, kind: Attachment['kind'], type: string): Attachment {
	const content = new Blob([id], { type });
	return { id, conversation: 'c', name: id, type, kind, bytes: content.size, content, pages: [], text: '', fileId: null };
}
const question = (text: string, ...attachments: string[]) => [newUserMessage('c', null, 'before', []), newUserMessage('c', null, text, attachments)];

describe('the events of a stream', () => {
	const STREAM = ': ka\n\n: {"progress":[1,4]}\n\nevent: a\ndata: {"type":"a"}\n\ndata: [DONE]\n\n';
	test('are the same wherever the pieces end', () => {
		for (const length of [1, 2, 3, 7, STREAM.length]) {
			const events = new SseEvents();
			const found = Array.from({ length: Math.ceil(STREAM.length / length) }, (_, at) =>
				events.push(STREAM.slice(at * length, (at + 1) * length))
			).flat();
			expect(found).toEqual([{ comment: 'ka' }, { comment: '{"progress":[1,4]}' }, { data: { type: 'a' } }]);
		}
	});
	test('have the place in the queue and the progress in comments', () => {
		expect(placeIn('queue position about 3 of 16, estimated wait 4 s, waiting for a slot')).toMatchObject({
			position: 3,
			isEstimate: true,
			estimateMs: 4_000,
			reason: 'waiting for a slot',
			loadPercent: null
		});
		expect(placeIn('queue position 1 of 1, model is loading 41 %')).toMatchObject({ isEstimate: false, estimateMs: null, loadPercent: 41 });
		expect(workIn('{"progress":[30000,90000]}')).toEqual({ done: 30_000, total: 90_000 });
		for (const other of ['ka', '{', '{"progress":[1]}', '{"progress":[1,0]}']) expect([placeIn(other), workIn(other)]).toEqual([null, null]);
	});
	test('make an image, with the unfinished ones before', async () => {
		const before = readMediaEvent(NOTHING, { type: 'image_generation.partial_image', b64_json: PNG });
		expect(await before.preview?.text()).toBe('png');
		const after = readMediaEvent(before, { type: 'image_edit.completed', b64_json: PNG, output_format: 'webp', size: '8x8' });
		expect(after).toMatchObject({ preview: null, size: '8x8', isEnd: true });
		expect(after.result?.type).toBe('image/webp');
	});
	test('make a text of a recording, which the end has as a whole', () => {
		const heard = ['one', ' two'].reduce((state, delta) => readMediaEvent(state, { type: 'transcript.text.delta', delta }), NOTHING);
		expect(heard).toMatchObject({ text: 'one two', isEnd: false });
		expect(readMediaEvent(heard, { type: 'transcript.text.done', text: 'one two.' })).toMatchObject({ text: 'one two.', isEnd: true });
	});
	test('make a recording of its parts', async () => {
		const spoken = ['a', 'b'].reduce((state, part) => readMediaEvent(state, { type: 'speech.audio.delta', audio: btoa(part) }), NOTHING);
		const { result, isEnd } = readMediaEvent(spoken, { type: 'speech.audio.done' });
		expect([await result?.text(), isEnd]).toEqual(['ab', true]);
	});
	test('end with the error of the platform', () => {
		const failed = readMediaEvent(NOTHING, { error: { code: 'invalid_audio', message: 'no sound in it', param: 'file' } });
		expect(failed).toMatchObject({ isEnd: true, error: { code: 'invalid_audio', message: 'no sound in it', param: 'file' } });
		expect(readMediaEvent(NOTHING, { type: 'other' })).toBe(NOTHING);
	});
});

describe('the request', () => {
	test('for an image has the last question alone, and only what is chosen', () => {
		const media = newMedia('image', NO_CHOICES);
		const { path, fields, files } = mediaRequest('painter', media, question('a hat'), [], NO_CHOICES);
		expect(path).toBe('/v1/images/generations');
		expect(fields).toEqual({ model: 'painter', prompt: 'a hat', seed: media.seed, stream: true, partial_images: 2 });
		expect(files).toEqual([]);
		const chosen = mediaRequest('painter', media, question('a hat'), [], { size: '8x8', quality: 'low', seed: 7, voice: '' });
		expect(chosen.fields).toMatchObject({ size: '8x8', quality: 'low' });
	});
	test('has a seed of its own each time, unless one is chosen', () => {
		const seeds = Array.from({ length: 20 }, () => newMedia('image', NO_CHOICES).seed);
		expect(new Set(seeds).size).toBeGreaterThan(1);
		for (const seed of seeds) expect(seed).toBeLessThan(SEEDS);
		expect(newMedia('image', { ...NO_CHOICES, seed: 7 }).seed).toBe(7);
		expect(newMedia('speech', NO_CHOICES).seed).toBeNull();
	});
	test('changes images that are attached', () => {
		const images = [file('a', 'image', 'image/png'), file('b', 'image', 'image/png')];
		const edit = mediaRequest('painter', newMedia('image', NO_CHOICES), question('red', 'a'), images.slice(0, 1), NO_CHOICES);
		expect([edit.path, edit.files]).toEqual(['/v1/images/edits', [{ field: 'image', attachment: 'a' }]]);
		const several = mediaRequest('painter', newMedia('image', NO_CHOICES), question('red', 'a', 'b'), images, NO_CHOICES);
		expect(several.files.map(({ field }) => field)).toEqual(['image[]', 'image[]']);
		const { body, isWhole } = bodyOf(several, images);
		expect(isWhole && body instanceof FormData && body.getAll('image[]').length).toBe(2);
		expect(bodyOf(several, images.slice(1)).isWhole).toBe(false);
	});
	test('for a transcription is a form with the recording, and with the names that it may have', () => {
		const recording = file('r', 'audio', 'audio/webm');
		const request = mediaRequest('scribe', newMedia('transcription', NO_CHOICES), question('Stoker', 'r'), [recording], NO_CHOICES);
		expect(request).toMatchObject({ path: '/v1/audio/transcriptions', fields: { model: 'scribe', stream: true, prompt: 'Stoker' } });
		const { body, isWhole } = bodyOf(request, [recording]);
		expect(isWhole && body instanceof FormData && body.get('stream')).toBe('true');
		expect(bodyOf({ ...request, files: [] }, []).isWhole).toBe(false);
	});
	test('has no choice that the model has lost', () => {
		const offered = { task: 'image' as const, imageSizes: ['8x8'], imageQualities: [], voices: [] };
		const choices = { size: '8x8', quality: 'low', seed: 7, voice: 'alloy' };
		expect(fittedChoices(choices, offered)).toEqual({ size: '8x8', quality: '', seed: 7, voice: 'alloy' });
		expect(fittedChoices(choices, { ...offered, voices: ['nova', 'alloy'] }).voice).toBe('alloy');
		expect(fittedChoices(NO_CHOICES, { ...offered, voices: ['nova', 'alloy'] }).voice).toBe('nova');
		expect(fittedChoices(choices, undefined)).toBe(choices);
	});
	test('for speech has the chosen voice, else the first one', () => {
		const fields = (voice: string) => mediaRequest('v', newMedia('speech', NO_CHOICES), question('Hello'), [], { ...NO_CHOICES, voice }).fields;
		expect(fields('alloy')).toMatchObject({ input: 'Hello', voice: 'alloy', stream_format: 'sse' });
		expect(fields('').voice).toBe('0');
	});
});

describe('models of images and audio', () => {
	const model = (name: string, output: string, tasks: string[], input: string[]) =>
		chatModel({
			id: name,
			state: 'loaded',
			chat: { output, media_tasks: tasks, input, image_sizes: [], image_qualities: [], voices: [], can_load: true }
		} as unknown as ModelObject);
	const painter = model('a painter', 'image', ['image', 'workflow'], ['text', 'image']);
	const scribe = model('b scribe', 'transcript', ['transcribe', 'translate'], ['audio']);
	const text = model('c text', 'text', [], ['text']);

	test('have their task, and take no documents', () => {
		expect([painter.task, scribe.task, text.task]).toEqual(['image', 'transcription', null]);
		expect(gateOf(painter)).toEqual(['text', 'image', 'media']);
		expect(gateOf(text)).toEqual(['text']);
	});
	test('are preferred only where one was used last', () => {
		expect(preferredModel([painter, scribe, text], null)).toBe('c text');
		expect(preferredModel([painter, scribe, text], 'b scribe')).toBe('b scribe');
		expect(preferredModel([painter], null)).toBe('a painter');
	});
	test('have answers that are not continued', () => {
		const cut = newAnswer('c', null, 'scribe', { text: 'one', status: 'failed' });
		expect(canContinue(cut)).toBe(true);
		expect(canContinue({ ...cut, media: newMedia('transcription', NO_CHOICES) })).toBe(false);
	});
});

describe('a recording', () => {
	test('is WAV with one channel of 16 bits', async () => {
		const wav = wavOf(new Float32Array([0, 1, -1, 2, -0.5]));
		const view = new DataView(await wav.arrayBuffer());
		const text = (at: number, length: number) => String.fromCharCode(...new Uint8Array(view.buffer, at, length));
		expect([text(0, 4), text(8, 8), text(36, 4)]).toEqual(['RIFF', 'WAVEfmt ', 'data']);
		expect([view.getUint32(4, true), view.getUint32(40, true)]).toEqual([wav.size - 8, 10]);
		expect([view.getUint16(22, true), view.getUint32(24, true), view.getUint16(34, true)]).toEqual([1, SAMPLE_RATE, 16]);
		expect([0, 1, 2, 3, 4].map((at) => view.getInt16(44 + at * 2, true))).toEqual([0, 32767, -32768, 32767, -16384]);
		expect(wav.type).toBe('audio/wav');
	});
	test('has its time in minutes and seconds', () => {
		expect([0, 7.9, 65, 600].map(clockTime)).toEqual(['0:00', '0:07', '1:05', '10:00']);
	});
	test('is not made where the microphone is refused, missing or busy', () => {
		const named = (name: string) => problemOf(Object.assign(new Error(), { name }));
		expect(['NotAllowedError', 'NotFoundError', 'NotReadableError', 'AbortError'].map(named)).toEqual(['refused', 'missing', 'busy', 'failed']);
	});
});
