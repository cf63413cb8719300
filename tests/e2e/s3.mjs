// SPDX-License-Identifier: GPL-3.0-or-later
// Brings the file by the SDK for JavaScript: in one piece what is small, in parts what is not.
import { createReadStream, statSync } from 'node:fs';
import { createRequire } from 'node:module';

const from = createRequire(`${process.env.NODE_MODULES}/none`);
const { S3Client, PutObjectCommand } = from('@aws-sdk/client-s3');
const { Upload } = from('@aws-sdk/lib-storage');
const [, , file] = process.argv;
const size = statSync(file).size;
const client = new S3Client({ endpoint: process.env.endpoint, forcePathStyle: true });
const object = { Bucket: 'uploads', Key: process.env.key };
if (size < 5 << 20)
	await client.send(new PutObjectCommand({ ...object, Body: createReadStream(file), ContentLength: size,
		ChecksumAlgorithm: size < 5000 ? 'CRC32' : 'CRC64NVME' }));
else
	await new Upload({ client, params: { ...object, Body: createReadStream(file), ChecksumAlgorithm: 'CRC32C' },
		partSize: 5 << 20, queueSize: 3 }).done();
