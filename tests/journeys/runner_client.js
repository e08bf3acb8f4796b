// A router's client of the Model Runner API: fetch, and the camelCase keys of the specification.
//
//   node runner_client.js URL KEY LIMITED_KEY
//
// Prints what it saw as one JSON object.

const [url, key, limitedKey] = process.argv.slice(2);

async function call(method, path, { apiKey = key, body, headers = {} } = {}) {
    const response = await fetch(`${url}${path}`, {
        method,
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${apiKey}`, ...headers },
        body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text ? JSON.parse(text) : null };
}

async function readCapabilities() {
    const { status, headers, body } = await call('GET', '/v1/capabilities');
    const { runnerType, runnerId, models, resources, queue, capabilities, health } = body;
    const again = await call('GET', '/v1/capabilities', { headers: { 'If-None-Match': headers.get('etag') } });
    return {
        status,
        cacheControl: headers.get('cache-control'),
        runnerType,
        runnerId,
        loaded: models.loaded.map(({ id, contextLength, loadedAt }) => ({ id, contextLength, loadedAt })),
        loading: models.loading.length,
        available: models.available,
        gpus: resources.gpuIds.length,
        room: queue.maxDepth - queue.depth,
        streaming: capabilities.streaming,
        health,
        again: again.status,
    };
}

async function readHealth() {
    const response = await fetch(`${url}/health`);
    const { status, uptime, modelsLoaded, queueDepth } = await response.json();
    return { http: response.status, status, uptime, modelsLoaded, queueDepth };
}

function infer(model, input, options = {}) {
    return call('POST', '/v1/responses', { body: { model, input }, ...options });
}

async function answerOnce() {
    const { status, headers } = await infer('fast', '/stub tokens=2', {
        headers: { 'X-Priority': 'high', 'X-Cache-Mode': 'auto', 'X-Cache-Tag': 'session-abc123' },
    });
    const names = ['x-cache-hit', 'x-cache-tokens-reused', 'x-queue-wait-ms', 'x-gpu-time-ms'];
    return { status, ...Object.fromEntries(names.map((name) => [name, headers.get(name)])) };
}

function refusal({ status, headers, body }) {
    return { status, retryAfter: Number(headers.get('retry-after')), error: body.error };
}

// More requests than the model has slots and places in its queue, while the first one runs.
async function fillQueue() {
    const first = await fetch(`${url}/v1/responses`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'slow', input: '/stub tokens=40', stream: true }),
    });
    const reader = first.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let seen = ''; !seen.includes('output_text.delta'); ) seen += (await reader.read()).value;
    const others = Promise.all(Array.from({ length: 7 }, () => infer('slow', '/stub tokens=1')));
    while (!(await reader.read()).done);
    const answers = [{ status: first.status }, ...(await others)];
    const statuses = answers.map(({ status }) => status);
    const refused = answers.find(({ status }) => status === 503);
    return { statuses, refused: refused && refusal(refused) };
}

async function exceedRateLimit() {
    const statuses = [];
    let refused;
    for (let count = 0; count < 4; count += 1) {
        const answer = await infer('fast', '/stub tokens=1', { apiKey: limitedKey });
        statuses.push(answer.status);
        if (answer.status === 429) refused = refusal(answer);
    }
    return { statuses, refused };
}

async function main() {
    const capabilities = await readCapabilities();
    const health = await readHealth();
    const answer = await answerOnce();
    const queueFull = await fillQueue();
    const rateLimited = await exceedRateLimit();
    console.log(JSON.stringify({ capabilities, health, answer, queueFull, rateLimited }));
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
