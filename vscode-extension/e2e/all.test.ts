/** The extension in a real VS Code, before the real server and model. The cases run one after the other. */

import { after, afterEach, before, suite } from 'node:test';
import { firstToken, stoppedServer, wrongToken } from './cases/connection.ts';
import { insight } from './cases/insight.ts';
import { install } from './cases/install.ts';
import { places } from './cases/places.ts';
import { switches } from './cases/switches.ts';
import { trust } from './cases/trust.ts';
import { typing } from './cases/typing.ts';
import { World } from './harness/world.ts';

const world = new World();

suite('in VS Code', () => {
  before(() => world.start());
  after(() => world.stop());
  afterEach(async (context) => {
    if ('passed' in context && !context.passed) {
      await world.picture(`failed-${context.name.replaceAll(/\W+/g, '-')}`).catch(() => undefined);
    }
  });
  firstToken(world);
  typing(world);
  places(world);
  switches(world);
  insight(world);
  trust(world);
  install(world);
  wrongToken(world);
  stoppedServer(world);
});
