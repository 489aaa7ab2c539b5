-- What surrounds scripts: tables that cannot be changed, errors with their place, and commands that raise them.
-- Given: a table of functions in Rust. Returned: the function that runs a script, and the table of what it may use.
local native = ...
local getmeta, raw_set = getmetatable, rawset
local real_pcall, real_xpcall, real_setmetatable = pcall, xpcall, setmetatable
local error, type, tostring, pairs, rawget = error, type, tostring, pairs, rawget
local load, loadstring, coroutine = load, loadstring, coroutine

local READONLY = 'Attempt to modify a readonly table'
local protected = real_setmetatable({}, {__mode = 'k'})

-- An empty table before `real`: reads go through, writes fail. Its keys are seen by `pairs`.
local real_next = next
local function protect(real, missing)
  local proxy = {}
  protected[proxy] = real
  return real_setmetatable(proxy, {
    __index = missing and function(_, key)
      local value = real[key]
      if value == nil then error(missing(key), 2) end
      return value
    end or real,
    __newindex = function() error(READONLY, 2) end,
    __metatable = false,
  })
end

-- What executes commands and what logs are other functions for each script.
local redis = native.redis

-- An interpreter has a limit of memory and outlives scripts: none may keep it from being collected for the others.
local collect = collectgarbage
collect('setpause', 120)
collect('setstepmul', 400)
local is_lasting = {stop = true, restart = true, setpause = true, setstepmul = true}
local function collectgarbage(option, ...)
  if is_lasting[option] then return 0 end
  return collect(option or 'collect', ...)
end

-- Code is text: Lua does not check compiled code, which could read and write all memory. With a
-- blank before it, it is text that no parser takes.
local byte, select = string.byte, select
local function as_text(code)
  if type(code) == 'string' and byte(code) == 27 then return ' ' .. code end
  return code
end
local function expect(kind, name, is_right, ...)
  if is_right then return end
  local found = select('#', ...) == 0 and 'no value' or type((...))
  error("bad argument #1 to '" .. name .. "' (" .. kind .. ' expected, got ' .. found .. ')', 3)
end
local function loadstring_of_text(...)
  local code, name = ...
  expect('string', 'loadstring', type(code) == 'string' or type(code) == 'number', ...)
  return loadstring(as_text(code), name or code)
end
local function load_of_text(...)
  local reader, name = ...
  expect('function', 'load', type(reader) == 'function', ...)
  local has_begun = false
  return load(function()
    local piece = reader()
    if has_begun or piece == '' then return piece end
    has_begun = true
    return as_text(piece)
  end, name)
end

-- What a script catches of an error of Rust. Of a command's it is the text; a handler gets the table.
local reason_of = native.reason
local function caught(is_done, reason, ...)
  if is_done then return is_done, reason, ... end
  reason = reason_of(reason)
  local text = type(reason) == 'table' and rawget(reason, 'err')
  if type(text) == 'string' or type(text) == 'number' then reason = text end
  return false, reason
end

local own_coroutine = {}
for name, value in pairs(coroutine) do own_coroutine[name] = value end
own_coroutine.resume = function(...) return caught(coroutine.resume(...)) end

local globals = {
  assert = assert, collectgarbage = collectgarbage, error = error, gcinfo = gcinfo, ipairs = ipairs,
  next = next, pairs = pairs, rawequal = rawequal, rawget = rawget, select = select,
  tonumber = tonumber, tostring = tostring, type = type, unpack = unpack, _VERSION = _VERSION,
  load = load_of_text, loadstring = loadstring_of_text,
  coroutine = protect(own_coroutine), string = protect(string), math = protect(math), table = protect(table),
  bit = protect(native.bit), cjson = protect(native.cjson),
  cmsgpack = protect(native.cmsgpack), struct = protect(native.struct),
  redis = protect(redis),
}

globals.pairs = function(one) return pairs(protected[one] or one) end
globals.next = function(one, key) return real_next(protected[one] or one, key) end
globals.rawget = function(one, key) return rawget(protected[one] or one, key) end
globals.rawset = function(one, key, value)
  if protected[one] then error(READONLY, 0) end
  return raw_set(one, key, value)
end
globals.setmetatable = function(one, meta)
  if protected[one] then error(READONLY, 0) end
  return real_setmetatable(one, meta)
end
globals.pcall = function(call, ...) return caught(real_pcall(call, ...)) end
globals.xpcall = function(call, handler)
  return real_xpcall(call, function(reason) return handler(reason_of(reason)) end)
end

local string_meta = protect({__index = globals.string})
getmeta('').__index = string

local environment = protect(globals, function(key)
  return "Script attempted to access nonexistent global variable '" .. tostring(key) .. "'"
end)
globals._G = environment
globals.getmetatable = function(one)
  if type(one) == 'string' then return string_meta end
  if protected[one] then return nil end
  return getmeta(one)
end

local function handler(reason)
  reason = reason_of(reason)
  local text = type(reason) == 'table' and rawget(reason, 'err') or 'ERR ' .. tostring(reason)
  if type(text) == 'number' then text = tostring(text) end
  local source, line = native.place()
  return {err = text, source = source, line = line}
end

local function run(script, call, protected_call, log, keys, arguments)
  redis.call, redis.pcall, redis.log = call, protected_call, log
  globals.KEYS, globals.ARGV = keys, arguments
  return real_xpcall(script, handler)
end

return run, environment
