// The specification's own client of the lifecycle (`executeModelLoad`, `pollModelLoadTask`), unchanged.
//
//   node infrastructure_client.js URL SEED STM
//
// URL is the runner's address, SEED the file with the examples of the specification, STM the arguments of the operation
// as JSON. The client's own address and its pauses of five seconds are replaced from outside. Prints one JSON object: its
// result, or the text of the error that it threw, and what it was answered.

const { readFileSync } = require('node:fs');

const [url, seed, stm] = process.argv.slice(2);
const ADDRESS = 'http://safebox-model-llm:8080';
const PAUSE_MS = 100;

const source = JSON.parse(readFileSync(seed, 'utf8')).infrastructure_api;
const answers = [];

async function redirectedFetch(address, options) {
    if (!address.startsWith(`${ADDRESS}/`)) throw new Error(`an unexpected address: ${address}`);
    const response = await fetch(url + address.slice(ADDRESS.length), options);
    answers.push({ http: response.status, body: await response.clone().json() });
    return response;
}

const shortTimeout = (call) => setTimeout(call, PAUSE_MS);

const load = new Function('fetch', 'setTimeout', `${source}; return executeModelLoad;`)(redirectedFetch, shortTimeout);
load('safebox-model-llm', JSON.parse(stm)).then(
    (result) => console.log(JSON.stringify({ result, answers })),
    (error) => console.log(JSON.stringify({ error: error.message, answers })),
);
