import { meshCommand } from '../../flags/command.ts';
import { imageFlags } from '../../lab/flags.ts';

export default meshCommand({
  id: ['lab', 'image'],
  summary: 'run a built-in image',
  examples: ['httpbin --port 8000', 'jwks mint --keys keys.json --audience httpbin'],
  flags: imageFlags,
  args: [
    { name: 'NAME', summary: 'name of the image: httpbin or jwks', required: true },
    { name: 'ACTION', summary: 'mint: print a token instead of serving (jwks)', options: ['mint'] },
  ],
  hidden: true,
  run: async () => (await import('../../lab/images/main.ts')).runImage,
});
