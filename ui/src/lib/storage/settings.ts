import { database } from './database';

/** A setting of the chat, such as `enterKey`; undefined if it was never set. No key of the API and no token is ever stored. */
export async function readSetting(name: string): Promise<unknown> {
	return (await database()).get('settings', name);
}

export async function putSetting(name: string, value: unknown): Promise<void> {
	await (await database()).put('settings', value, name);
}
