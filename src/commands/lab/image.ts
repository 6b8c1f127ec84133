import { meshCommand } from '../../flags/command.ts';
import { imageFlags } from '../../lab/flags.ts';

export default meshCommand({
  id: ['lab', 'image'],
  summary: 'run a built-in image',
  examples: ['httpbin --port 8000'],
  flags: imageFlags,
  args: [{ name: 'NAME', summary: 'name of the image', required: true }],
  hidden: true,
  run: async () => (await import('../../lab/images/main.ts')).runImage,
});
