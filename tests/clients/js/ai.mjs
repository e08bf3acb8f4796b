// Vercel's AI SDK with its provider for OpenAI-compatible servers.

import assert from 'node:assert/strict';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, streamText, tool } from 'ai';
import * as ai from 'ai';
import { z } from 'zod';
import { DEMO, KEY, QUESTION, STUB, URL_, run } from './checks.mjs';

const stoker = createOpenAICompatible({
    name: 'stoker', baseURL: `${URL_}/v1`, apiKey: KEY, includeUsage: true, supportsStructuredOutputs: true,
});

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
]);
