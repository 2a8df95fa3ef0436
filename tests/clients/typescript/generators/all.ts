import type { Generated } from "./client.js";
import { heyApi } from "./hey-api.js";
import { openapiGenerator } from "./openapi-generator.js";
import { openapiTypescript } from "./openapi-typescript.js";
import { orval } from "./orval.js";
import { swaggerTypescriptApi } from "./swagger-typescript-api.js";

/** The clients by the names that tests have. */
export const generators: Record<string, Generated> = {
  hey_api: heyApi,
  openapi_generator: openapiGenerator,
  openapi_typescript: openapiTypescript,
  orval,
  swagger_typescript_api: swaggerTypescriptApi,
};
