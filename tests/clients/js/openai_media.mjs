// OpenAI's client for JavaScript: audio and images, on the stub's models.

import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { KEY, PAINTER, SCRIBE, STUB, URL_, VOICE, run } from './checks.mjs';

const client = new OpenAI({ baseURL: `${URL_}/v1`, apiKey: KEY, maxRetries: 0 });
const SPOKEN = 'one two three'; // the stub takes an upload for the text that is said in it
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
// one pixel
const IMAGE = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
);
const SECOND = 2 * 24_000; // bytes of the stub's speech, whatever its format

const recording = (text = SPOKEN) => OpenAI.toFile(Buffer.from(text), 'spoken.wav');
const transcribe = async (fields) => client.audio.transcriptions.create({ model: SCRIBE, file: await recording(), ...fields });
const translate = async (fields) => client.audio.translations.create({ model: SCRIBE, file: await recording(), ...fields });
const speak = (fields) => client.audio.speech.create({ model: VOICE, voice: 'alloy', input: `/stub echo ${SPOKEN}`, ...fields });
const paint = { model: PAINTER, prompt: 'a square', size: '64x32' };

async function collect(stream) {
    const events = [];
    for await (const event of await stream) events.push(event);
    return events;
}

function sizeOf(base64) {
    const image = Buffer.from(base64, 'base64');
    assert.deepEqual(image.subarray(0, 8), PNG);
    return [image.readUInt32BE(16), image.readUInt32BE(20)];
}

function checkSubtitles(srt, vtt) {
    assert.ok(srt.startsWith('1\n00:00:00,000 --> 00:00:01,000\none\n\n2\n'), srt);
    assert.ok(vtt.startsWith('WEBVTT\n\n00:00:00.000 --> 00:00:01.000\none\n\n'), vtt);
}

await run('openai', [
    ['transcription', 'a transcription as json, text, srt, vtt and verbose_json', async () => {
        const { text, usage } = await transcribe();
        assert.deepEqual([text, usage], [SPOKEN, { type: 'duration', seconds: 3 }]);
        assert.equal(await transcribe({ response_format: 'text' }), `${SPOKEN}\n`);
        checkSubtitles(await transcribe({ response_format: 'srt' }), await transcribe({ response_format: 'vtt' }));
        const verbose = await transcribe({
            response_format: 'verbose_json', timestamp_granularities: ['word', 'segment'], language: 'de', prompt: 'Names', temperature: 0.5,
        });
        assert.deepEqual([verbose.language, verbose.duration, verbose.text], ['german', 3, SPOKEN]);
        assert.deepEqual(verbose.segments.map((segment) => segment.text), [' one', ' two', ' three']);
        assert.deepEqual(verbose.words[1], { word: 'two', start: 1, end: 2 });
    }],
    ['transcription_stream', 'a transcription as a stream', async () => {
        const events = await collect(transcribe({ stream: true }));
        const done = events.pop();
        assert.deepEqual([done.type, done.text], ['transcript.text.done', SPOKEN]);
        assert.ok(events.every((event) => event.type === 'transcript.text.delta'));
        assert.equal(events.map((event) => event.delta).join(''), SPOKEN);
    }],
    ['translation', 'a translation in each form', async () => {
        assert.equal((await translate()).text, SPOKEN);
        assert.equal(await translate({ response_format: 'text' }), `${SPOKEN}\n`);
        checkSubtitles(await translate({ response_format: 'srt' }), await translate({ response_format: 'vtt' }));
        const verbose = await translate({ response_format: 'verbose_json' });
        assert.deepEqual([verbose.language, verbose.duration, verbose.segments.length], ['english', 3, 3]);
    }],
    ['speech', 'speech in each format, and the audio while it is made', async () => {
        const types = { mp3: 'audio/mpeg', opus: 'audio/ogg', aac: 'audio/aac', flac: 'audio/flac', wav: 'audio/wav', pcm: 'audio/pcm' };
        for (const [response_format, type] of Object.entries(types)) {
            const answer = await speak({ response_format, speed: 1.5 });
            assert.equal(answer.headers.get('content-type'), type);
            assert.equal((await answer.arrayBuffer()).byteLength, 3 * SECOND);
        }
        const answer = await speak({ input: '/stub tokens_per_s=4 tokens=8 x', response_format: 'wav' });
        const parts = await collect(answer.body);
        assert.ok(parts.length > 1);
        assert.equal(parts.reduce((bytes, part) => bytes + part.length, 0), 8 * SECOND);
    }],
    ['speech_events', 'speech as events', async () => {
        const answer = await speak({ stream_format: 'sse' });
        const lines = (await answer.text()).split('\n').filter((line) => line.startsWith('data: {'));
        const events = lines.map((line) => JSON.parse(line.slice('data: '.length)));
        assert.equal(events.pop().type, 'speech.audio.done');
        const sizes = events.map((event) => Buffer.from(event.audio, 'base64').length);
        assert.deepEqual(sizes, [SECOND, SECOND, SECOND]);
    }],
    ['images', 'images as base64, and as URLs', async () => {
        const { data, size, usage } = await client.images.generate({ ...paint, n: 2, quality: 'auto', output_format: 'png' });
        assert.deepEqual(data.map((image) => sizeOf(image.b64_json)), [[64, 32], [64, 32]]);
        assert.deepEqual([size, usage.total_tokens], ['64x32', 0]);
        const linked = await client.images.generate({ ...paint, response_format: 'url' });
        const fetched = await fetch(linked.data[0].url);
        assert.equal(fetched.headers.get('content-type'), 'image/png');
        assert.deepEqual(sizeOf(Buffer.from(await fetched.arrayBuffer()).toString('base64')), [64, 32]);
    }],
    ['images_stream', 'an image as a stream with unfinished images', async () => {
        const events = await collect(client.images.generate({ ...paint, stream: true, partial_images: 2 }));
        assert.deepEqual(
            events.map((event) => [event.type, event.partial_image_index, ...sizeOf(event.b64_json)]),
            [
                ['image_generation.partial_image', 0, 64, 32],
                ['image_generation.partial_image', 1, 64, 32],
                ['image_generation.completed', undefined, 64, 32],
            ],
        );
    }],
    ['image_edits', 'changed images, whole and as a stream', async () => {
        const image = await Promise.all(['a.png', 'b.png'].map((name) => OpenAI.toFile(IMAGE, name, { type: 'image/png' })));
        const mask = await OpenAI.toFile(IMAGE, 'mask.png', { type: 'image/png' });
        const { data } = await client.images.edit({ ...paint, image, mask });
        assert.deepEqual(sizeOf(data[0].b64_json), [64, 32]);
        const events = await collect(client.images.edit({ ...paint, image: image[0], stream: true, partial_images: 1 }));
        assert.deepEqual(events.map((event) => event.type), ['image_edit.partial_image', 'image_edit.completed']);
    }],
    ['media_abort', 'an abort ends the stream of a transcription', async () => {
        const stream = await transcribe({ file: await recording('/stub tokens_per_s=5 tokens=1000 x'), stream: true });
        for await (const event of stream) if (event.type === 'transcript.text.delta') break;
    }],
    ['media_errors', 'what a model does not do is its BadRequestError', async () => {
        const requests = [
            () => transcribe({ model: STUB }), () => speak({ model: STUB }), () => client.images.generate({ ...paint, model: STUB }),
        ];
        for (const request of requests) {
            await assert.rejects(request, (error) => error instanceof OpenAI.BadRequestError && error.code === 'wrong_endpoint');
        }
        await assert.rejects(transcribe({ language: 'klingon' }), { status: 400, param: 'language' });
        await assert.rejects(client.images.generate({ ...paint, size: '1x1' }), { status: 400, param: 'size' });
    }],
]);
