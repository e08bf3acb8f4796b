// OpenAI's client for JavaScript.

import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { DEMO, KEY, QUESTION, STUB, URL_, run } from './checks.mjs';

const client = new OpenAI({ baseURL: `${URL_}/v1`, apiKey: KEY, maxRetries: 0 });
const ask = { model: DEMO, messages: [{ role: 'user', content: QUESTION }], temperature: 0 };
const weather = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } };

await run('openai', [
    ['chat', 'a conversation', async () => {
        const answer = await client.chat.completions.create(ask);
        assert.match(answer.choices[0].message.content, /language models/);
    }],
    ['chat_stream', 'its stream helper', async () => {
        const whole = await client.chat.completions.create(ask);
        const stream = client.chat.completions.stream({ ...ask, stream_options: { include_usage: true } });
        const final = await stream.finalChatCompletion();
        assert.equal(final.choices[0].message.content, whole.choices[0].message.content);
        assert.ok((await stream.totalUsage()).completion_tokens > 3);
    }],
    ['tools', 'a tool that its runner calls', async () => {
        const called = [];
        const runner = client.chat.completions.runTools({
            model: STUB,
            messages: [{ role: 'user', content: '/stub tool_call=weather Oslo' }],
            tools: [{
                type: 'function',
                function: { ...weather.function, parse: JSON.parse, function: (given) => { called.push(given); return 'rain'; } },
            }],
        });
        assert.ok(await runner.finalContent());
        assert.deepEqual(called, [{ echo: 'Oslo' }]);
    }],
    ['responses', 'the Responses API', async () => {
        const first = await client.responses.create({ model: DEMO, input: QUESTION, temperature: 0 });
        assert.match(first.output_text, /language models/);
    }],
    ['responses_stream', 'its stream helper', async () => {
        const stream = client.responses.stream({ model: DEMO, input: QUESTION, temperature: 0 });
        let text = '';
        stream.on('response.output_text.delta', (event) => { text += event.delta; });
        assert.equal((await stream.finalResponse()).output_text, text);
    }],
    ['background', 'a response in the background, polled', async () => {
        let response = await client.responses.create({ model: STUB, input: 'Hi.', background: true });
        const deadline = Date.now() + 20_000;
        while (response.status !== 'completed' && Date.now() < deadline) response = await client.responses.retrieve(response.id);
        assert.equal(response.status, 'completed');
    }],
    ['models', 'the list of models', async () => {
        const names = [];
        for await (const model of client.models.list()) names.push(model.id);
        assert.ok(names.includes(DEMO));
    }],
    ['batches', 'a file, and a batch of its lines', async () => {
        const line = { custom_id: 'one', method: 'POST', url: '/v1/chat/completions', body: { ...ask, model: STUB } };
        const file = await client.files.create({
            file: await OpenAI.toFile(Buffer.from(JSON.stringify(line)), 'lines.jsonl'), purpose: 'batch',
        });
        let batch = await client.batches.create({
            input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h',
        });
        const deadline = Date.now() + 20_000;
        while (batch.status !== 'completed' && Date.now() < deadline) batch = await client.batches.retrieve(batch.id);
        const output = await (await client.files.content(batch.output_file_id)).text();
        assert.equal(JSON.parse(output).custom_id, 'one');
        for (const id of [file.id, batch.output_file_id]) await client.files.delete(id);
    }],
    ['abort', 'an abort ends a stream', async () => {
        const stream = await client.chat.completions.create({
            model: STUB, stream: true, messages: [{ role: 'user', content: '/stub tokens=100000 tokens_per_s=50' }],
        });
        for await (const chunk of stream) if (chunk.choices[0].delta.content) break;
    }],
    ['errors', 'an unknown model is its NotFoundError', async () => {
        await assert.rejects(client.chat.completions.create({ ...ask, model: 'unknown' }), OpenAI.NotFoundError);
    }],
]);
