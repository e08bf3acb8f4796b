// Anthropic's client for JavaScript.

import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { DEMO, KEY, QUESTION, STUB, URL_, run } from './checks.mjs';

const client = new Anthropic({ baseURL: URL_, apiKey: KEY, maxRetries: 0 });
const ask = { model: DEMO, max_tokens: 60, messages: [{ role: 'user', content: QUESTION }] };

await run('@anthropic-ai/sdk', [
    ['messages', 'a conversation', async () => {
        const answer = await client.messages.create(ask);
        assert.ok(answer.content[0].text);
    }],
    ['stream', 'its stream helper', async () => {
        let text = '';
        const stream = client.messages.stream({ ...ask, model: STUB }).on('text', (piece) => { text += piece; });
        assert.equal(await stream.finalText(), text);
    }],
    ['tools', 'a tool call', async () => {
        const answer = await client.messages.create({
            ...ask,
            model: STUB,
            messages: [{ role: 'user', content: '/stub tool_call=weather Oslo' }],
            tools: [{ name: 'weather', input_schema: { type: 'object' } }],
        });
        assert.equal(answer.stop_reason, 'tool_use');
        assert.deepEqual(answer.content.at(-1).input, { echo: 'Oslo' });
    }],
    ['count_tokens', 'the number of tokens of a conversation', async () => {
        const { input_tokens } = await client.messages.countTokens({ model: DEMO, messages: ask.messages });
        assert.ok(input_tokens > 3);
    }],
    ['batches', 'a batch of messages', async () => {
        let batch = await client.messages.batches.create({
            requests: [{ custom_id: 'one', params: { ...ask, model: STUB } }],
        });
        const deadline = Date.now() + 20_000;
        while (batch.processing_status !== 'ended' && Date.now() < deadline) {
            batch = await client.messages.batches.retrieve(batch.id);
        }
        for await (const line of await client.messages.batches.results(batch.id)) {
            assert.deepEqual([line.custom_id, line.result.type], ['one', 'succeeded']);
        }
        await client.messages.batches.delete(batch.id);
    }],
    ['errors', 'an unknown model is its NotFoundError', async () => {
        await assert.rejects(client.messages.create({ ...ask, model: 'unknown' }), Anthropic.NotFoundError);
    }],
]);
