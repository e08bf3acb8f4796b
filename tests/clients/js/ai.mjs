// Vercel's AI SDK with its providers for OpenAI-compatible servers, OpenAI (Responses) and Anthropic.

import assert from 'node:assert/strict';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, streamText, tool } from 'ai';
import * as ai from 'ai';
import { z } from 'zod';
import { DEMO, KEY, QUESTION, STUB, URL_, run } from './checks.mjs';

const stoker = createOpenAICompatible({
    name: 'stoker', baseURL: `${URL_}/v1`, apiKey: KEY, includeUsage: true, supportsStructuredOutputs: true,
});
const PROVIDERS = [
    createOpenAI({ baseURL: `${URL_}/v1`, apiKey: KEY }), createAnthropic({ baseURL: `${URL_}/v1`, apiKey: KEY }),
];

await run('ai', [
    ['generate', 'a question', async () => {
        const { text, usage } = await generateText({ model: stoker(DEMO), prompt: QUESTION, temperature: 0 });
        assert.match(text, /language models/);
        assert.ok(usage.outputTokens > 3);
    }],
    ['stream', 'streaming', async () => {
        const { textStream } = streamText({ model: stoker(DEMO), prompt: QUESTION, temperature: 0 });
        let text = '';
        for await (const piece of textStream) text += piece;
        assert.match(text, /language models/);
    }],
    ['tools', 'a tool that it calls', async () => {
        const called = [];
        const weather = tool({
            description: 'The weather of a place.',
            inputSchema: z.object({ echo: z.string() }),
            execute: ({ echo }) => { called.push(echo); return 'rain'; },
        });
        const { text } = await generateText({
            model: stoker(STUB), prompt: '/stub tool_call=weather Oslo', tools: { weather }, stopWhen: ai.isStepCount?.(3) ?? ai.stepCountIs(3),
        });
        assert.ok(text);
        assert.deepEqual(called, ['Oslo']);
    }],
    ['structured_output', 'an object by JSON schema', async () => {
        const { output } = await generateText({
            model: stoker(DEMO), prompt: 'Is water wet?', output: ai.Output.object({ schema: z.object({ verdict: z.enum(['yes', 'no']) }) }),
        });
        assert.ok(['yes', 'no'].includes(output.verdict));
    }],
    ['providers', "OpenAI's and Anthropic's providers: a question", async () => {
        for (const provider of PROVIDERS) {
            const { text } = await generateText({ model: provider(DEMO), prompt: QUESTION, temperature: 0 });
            assert.match(text, /language models/);
        }
    }],
    ['provider_tools', 'a tool that a stream calls', async () => {
        for (const provider of PROVIDERS) {
            const called = [];
            const weather = tool({
                inputSchema: z.object({ echo: z.string() }), execute: ({ echo }) => { called.push(echo); return 'rain'; },
            });
            const { textStream } = streamText({
                model: provider(STUB), prompt: '/stub thinking=2 tool_call=weather Oslo', tools: { weather },
                stopWhen: ai.isStepCount?.(3) ?? ai.stepCountIs(3), onError: ({ error }) => { throw error; },
            });
            let text = '';
            for await (const piece of textStream) text += piece;
            assert.ok(text);
            assert.deepEqual(called, ['Oslo']);
        }
    }],
    ['hosted_tools', 'a search on the web is left out', async () => {
        const [openai, anthropic] = PROVIDERS;
        const searches = [
            [openai, openai.tools.webSearch({})], [anthropic, anthropic.tools.webSearch_20250305({})],
        ];
        for (const [provider, web_search] of searches) {
            assert.ok((await generateText({ model: provider(STUB), prompt: 'Hi.', tools: { web_search } })).text);
        }
    }],
]);
