// Runs the checks of a client and prints their outcomes as JSON. A check is an array of its name, what it shows
// (for docs/clients.md) and a function that throws if the client does not work as its user expects.

import { readFileSync } from 'node:fs';

export const URL_ = process.env.STOKER_URL ?? '';
export const KEY = process.env.STOKER_API_KEY ?? '';
export const DEMO = 'stoker-demo';
export const STUB = 'stub'; // follows directives: `/stub tool_call=weather` makes it call that tool
export const [SCRIBE, VOICE, PAINTER] = ['scribe', 'voice', 'painter']; // the stub's models of audio and images
export const QUESTION = 'What is Stoker?';

export async function run(name, checks) {
    const version = JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;
    const outcomes = {};
    if (!process.argv.includes('--list')) {
        for (const [check, , act] of checks) {
            try {
                await act();
                outcomes[check] = '';
            } catch (error) {
                outcomes[check] = String(error.stack ?? error);
            }
        }
    }
    const names = Object.fromEntries(checks.map(([check, shown]) => [check, shown]));
    console.log(JSON.stringify({ version, checks: names, outcomes }));
}
