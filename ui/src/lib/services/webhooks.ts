import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';

export type WebhookTarget = components['schemas']['WebhookTargetObject'];
export type WebhookTest = components['schemas']['WebhookTest'];

/** The configured targets of webhooks. Raises `ApiProblem`. */
export async function readWebhooks(): Promise<WebhookTarget[]> {
	return (await call(api.GET('/v1/admin/webhooks'))).data;
}

/** Send a test event to a target, which takes up to 10 s. Raises `ApiProblem`. */
export function sendTest(name: string): Promise<WebhookTest> {
	return call(api.POST('/v1/admin/webhooks/{name}/test', { params: { path: { name } } }));
}
