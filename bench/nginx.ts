import { userInfo } from 'node:os';

/** nginx as the upstream: the least work there is. */
export function nginxUpstream(port: number, folder: string): string {
  return page(folder, {
    http: `
    access_log off;
    server {
      listen 127.0.0.1:${port} reuseport;
      default_type application/json;
      location / { return 200 '{"gender":"female","probability":0.98}'; }
      location = /v1/voice-gender-recognition/api/big { alias "${folder}/big"; }
    }`,
  });
}

/** nginx as a reverse proxy that checks nothing and logs nothing. */
export function nginxProxy(port: number, folder: string, urls: Urls): string {
  return page(folder, {
    http: `
    access_log off;
    ${pools(urls)}
    server {
      listen 127.0.0.1:${port};
      ${passing}
      location / { proxy_pass http://upstream; }
      location = /v1/voice-gender-recognition/api/voice { proxy_pass http://sink; }
    }`,
  });
}

/** nginx with the same policy as the gateway, in Lua. */
export function nginxLua(port: number, folder: string, gate: Gate): string {
  const fields = [
    '"time":"$time_iso8601","requestId":"$request_id","keyId":"$key_id","method":"$request_method","path":"$uri"',
    '"status":$status,"bytesIn":$request_length,"bytesOut":$body_bytes_sent,"seconds":$request_time',
    '"upstreamSeconds":"$upstream_response_time","client":"$remote_addr","userAgent":"$http_user_agent"',
  ];
  return page(folder, {
    modules: gate.modules,
    http: `
    log_format line escape=json '{${fields.join(',')}}';
    access_log /dev/stdout line buffer=64k flush=1s;
    lua_package_path "${gate.folder}/?.lua;/usr/share/lua/5.1/?.lua;;";
    init_by_lua_block { gate = require 'gate'; gate.load(${gate.redisPort}, ${gate.keys}) }
    ${pools(gate)}
    server {
      listen 127.0.0.1:${port};
      set $key_id '';
      ${passing}
      location = /v1/voice-gender-recognition/api/name {
        client_max_body_size 16k;
        client_body_buffer_size 16k;
        access_by_lua_block { gate.admit(true) }
        proxy_pass http://upstream;
      }
      location = /v1/voice-gender-recognition/api/voice {
        access_by_lua_block { gate.admit(false) }
        proxy_request_buffering off;
        proxy_pass http://sink;
      }
      location / {
        access_by_lua_block { gate.admit(false) }
        proxy_pass http://upstream;
      }
    }`,
  });
}

interface Urls {
  /** `host:port` of each. */
  readonly upstream: string;
  readonly sink: string;
}

interface Gate extends Urls {
  readonly modules: readonly string[];
  readonly folder: string;
  readonly redisPort: number;
  readonly keys: number;
}

const passing = `client_max_body_size 12m;
      proxy_http_version 1.1;
      proxy_set_header Connection '';
      proxy_set_header apiKey '';
      proxy_buffer_size 16k;
      proxy_buffers 16 128k;
      proxy_busy_buffers_size 256k;
      proxy_max_temp_file_size 0;`;

function pools({ upstream, sink }: Urls): string {
  return `upstream upstream { server ${upstream}; keepalive 1024; keepalive_requests 1000000000; }
    upstream sink { server ${sink}; keepalive 64; keepalive_requests 1000000000; }`;
}

function page(folder: string, { modules = [], http }: { modules?: readonly string[]; http: string }): string {
  const spool = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
  ${modules.map((path) => `load_module "${path}";`).join('\n  ')}
  ${userInfo().uid === 0 ? 'user root;' : ''} # its worker must reach the temporary folder
  daemon off;
  worker_processes 1;
  pid "${folder}/nginx-${Math.random().toString(36).slice(2)}.pid";
  error_log stderr error;
  events { worker_connections 8192; }
  http {
    ${spool.map((name) => `${name}_temp_path "${folder}/nginx-${name}";`).join('\n    ')}
    keepalive_requests 1000000000;
    keepalive_timeout 65s;
    ${http}
  }
`;
}
