-- The policy of the peers for nginx: key, exact quota in Redis, shape of the body. It counts with INCR, as they do.
local cjson = require 'cjson.safe'
local ffi = require 'ffi'
ffi.cdef 'unsigned char *SHA256(const unsigned char *text, size_t length, unsigned char *digest);'

local gate = {}
local callers = {}
local redis_port
local buffer = ffi.new('unsigned char[32]')

local function digest(text)
  ffi.C.SHA256(text, #text, buffer)
  return ffi.string(buffer, 32)
end

function gate.load(port, keys)
  redis_port = port
  for n = 0, keys - 1 do
    callers[digest(string.format('bench-key-%010d', n))] = { id = 'k' .. n, limit = 1e9 }
  end
  callers[digest('bench-key-spent-0000')] = { id = 'spent', limit = 1 }
end

local function refuse(status, message)
  ngx.status = status
  ngx.header['Content-Type'] = 'application/json'
  ngx.print(cjson.encode({ error = message }))
  return ngx.exit(status)
end

-- As much of the Redis protocol as two commands need. Connections are kept between requests.
local function incr(counter)
  local socket = ngx.socket.tcp()
  socket:settimeout(1000)
  local ok, fault = socket:connect('127.0.0.1', redis_port)
  if not ok then return nil, fault end
  local sent = socket:send('*2\r\n$4\r\nINCR\r\n$' .. #counter .. '\r\n' .. counter .. '\r\n')
  local reply = sent and socket:receive()
  local used = reply and tonumber(string.sub(reply, 2))
  if used == 1 then
    socket:send('*3\r\n$6\r\nEXPIRE\r\n$' .. #counter .. '\r\n' .. counter .. '\r\n$7\r\n2764800\r\n')
    socket:receive()
  end
  socket:setkeepalive(60000, 1024)
  return used
end

local function is_name(value)
  return type(value) == 'string' and #value <= 256 and ngx.re.find(value, [[\S]], 'jo') ~= nil
end

function gate.admit(checks_body)
  local key = ngx.var.http_apikey
  if not key then return refuse(401, 'API key is required') end
  local caller = callers[digest(key)]
  if not caller then return refuse(401, 'Invalid API key') end
  ngx.var.key_id = caller.id
  local used = incr('nginx:' .. caller.id .. ':' .. string.sub(ngx.utctime(), 1, 7))
  if not used then return refuse(503, 'Service unavailable') end
  if used > caller.limit then return refuse(429, 'Quota exceeded') end
  if not checks_body then return end
  ngx.req.read_body()
  local body = cjson.decode(ngx.req.get_body_data() or '')
  if type(body) ~= 'table' or not is_name(body.firstName) or not is_name(body.lastName) then
    return refuse(400, 'The body is not valid')
  end
end

return gate
