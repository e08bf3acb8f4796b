import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';

type Schemas = components['schemas'];
export type LoadPlan = Schemas['LoadPlan'];
export type UnloadPlan = Schemas['UnloadPlan'];
type LoadBody = Schemas['LoadRequest'];

/** The paths of the actions on a model, for a command. */
export function actionPath(name: string, action: 'load' | 'load/plan' | 'unload' | 'unload/plan'): string {
	return `/v1/admin/models/${name.split('/').map(encodeURIComponent).join('/')}/${action}`;
}

/** What a load would do. Raises `ApiProblem`. */
export function planLoad(name: string, body: Record<string, unknown>): Promise<LoadPlan> {
	const path = { params: { path: { name } }, body: body as LoadBody };
	return call(api.POST('/v1/admin/models/{name}/load/plan', path));
}

/** Begin a load. Raises `ApiProblem`. */
export async function load(name: string, body: Record<string, unknown>): Promise<void> {
	await call(api.POST('/v1/admin/models/{name}/load', { params: { path: { name } }, body: body as LoadBody }));
}

/** What an unload would do. Raises `ApiProblem`. */
export function planUnload(name: string): Promise<UnloadPlan> {
	return call(api.GET('/v1/admin/models/{name}/unload/plan', { params: { path: { name } } }));
}

/** Begin an unload, or cancel a load. Raises `ApiProblem`. */
export async function unload(name: string): Promise<void> {
	await call(api.POST('/v1/admin/models/{name}/unload', { params: { path: { name } } }));
}

/** Cancel a load by its operation. Raises `ApiProblem`. */
export async function cancelLoad(operation: string): Promise<void> {
	await call(api.DELETE('/v1/admin/operations/{id}', { params: { path: { id: operation } } }));
}

/** So long a load may take before its unload is asked about, in seconds. */
export const LONG_RELOAD_S = 30;

/** Whether an unload costs something, so that a person should confirm it: requests, or a long load afterwards. */
export function asksFirst(plan: UnloadPlan): boolean {
	return plan.runningRequests + plan.waitingRequests > 0 || (plan.reload ?? 0) >= LONG_RELOAD_S;
}
