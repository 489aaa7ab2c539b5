//! Scripts of random requests: what they call, what they return, and how they fail.

use fastrand::Rng;

/// Scripts that execute the command that their arguments are.
const OF_COMMANDS: &[&str] = &[
    "return redis.call(unpack(ARGV))",
    "return redis.pcall(unpack(ARGV))",
    "return {redis.pcall(unpack(ARGV)), redis.call('GET', KEYS[1] or 'a')}",
    "redis.setresp(3) return redis.pcall(unpack(ARGV))",
    "redis.setresp(3) return type(redis.pcall(unpack(ARGV)))",
    "local ok, reply = pcall(redis.call, unpack(ARGV)) return {tostring(ok), reply}",
    "local reply = redis.pcall(unpack(ARGV)) if type(reply) == 'table' and reply.err then return 'failed: ' .. reply.err end return reply",
    "for i, key in ipairs(KEYS) do redis.call('SET', key, i) end\nreturn redis.call(unpack(ARGV))",
    "local all = {} for i = 1, 3 do all[i] = redis.pcall(unpack(ARGV)) end return all",
];

/// Scripts of values.
const OTHERS: &[&str] = &[
    "return ARGV[1]",
    "return ARGV",
    "return KEYS",
    "return {#KEYS, #ARGV}",
    "return {ok = ARGV[1]}",
    "return {err = ARGV[1]}",
    "return {{ok = ARGV[1]}, {err = ARGV[1]}}",
    "return redis.status_reply(ARGV[1])",
    "return redis.error_reply(ARGV[1])",
    "return redis.error_reply(ARGV[1] .. ' ' .. ARGV[1])",
    "return tonumber(ARGV[1])",
    "return tostring(tonumber(ARGV[1]))",
    "return ARGV[1] + 1",
    "return ARGV[1] .. 1",
    "return {double = tonumber(ARGV[1]) or 0.1}",
    "return {big_number = '123456789012345678901234567890'}",
    "return {map = {a = 1}}",
    "return {set = {a = true}}",
    "return {verbatim_string = {format = 'txt', string = ARGV[1] or ''}}",
    "redis.setresp(3) return {true, false, {double = 0.5}}",
    "return {1, 2.9, -2.9, 'x', false, true, {}, {{1}}, nil, 5}",
    "return 1e300",
    "return 0/0",
    "return true",
    "return false",
    "return",
    "",
    "--",
    "return function() end",
    "return redis.sha1hex(ARGV[1])",
    "return string.rep(ARGV[1], 3)",
    "return struct.pack('>I2s', #ARGV, ARGV[1])",
    "return {struct.unpack('>I2s', struct.pack('>I2s', #ARGV, ARGV[1]))}",
    "return cmsgpack.pack(ARGV)",
    "return {cmsgpack.unpack(cmsgpack.pack(ARGV, 1, -1.5, true))}",
    "return cjson.encode(ARGV)",
    "return cjson.decode('[1, 2.5, \"x\", null, {\"a\": [true]}]')",
    "return cjson.decode(ARGV[1])",
    "return cjson.encode(cjson.decode(ARGV[1]))",
    "return {cmsgpack.unpack(ARGV[1])}",
    "return cmsgpack.pack(tonumber(ARGV[1]))",
    "return {struct.unpack('<i4', ARGV[1])}",
    "return struct.pack('<dI8', ARGV[1], ARGV[1])",
    "return bit.bxor(#ARGV[1], 5)",
    "return {bit.tobit(ARGV[1]), bit.bnot(ARGV[1]), bit.tohex(ARGV[1])}",
    "return {bit.lshift(ARGV[1], 3), bit.arshift(ARGV[1], 3), bit.rol(ARGV[1], 3), bit.bswap(ARGV[1])}",
    "return {loadstring(ARGV[1])}",
    "error(ARGV[1])",
    "error({err = ARGV[1] or 'x'})",
    "error(redis.error_reply(ARGV[1] or 'x'))",
    "return select(2, pcall(error, ARGV[1]))",
    "return nosuch",
    "return redis.nosuch()",
    "return =",
    "x = 1",
    "return redis.call()",
    "return redis.call('GET')",
    "return redis.pcall('NOSUCH')",
    "return redis.call('GET', {})",
    "\n\nreturn redis.call('INCR', KEYS[1])",
    "return redis.call('MGET', unpack(KEYS))",
    "local all = {} for i = 1, 10 do all[i] = redis.call('INCR', KEYS[1] or 'a') end return all",
    "if redis.call('EXISTS', KEYS[1] or 'a') == 1 then return redis.call('DEL', KEYS[1] or 'a') end return redis.status_reply('none')",
    "for _, key in ipairs(KEYS) do redis.call('APPEND', key, 'x') end return redis.call('STRLEN', KEYS[1] or 'a')",
    "#!lua\nreturn ARGV[1]",
    "#!lua flags=no-writes\nreturn redis.pcall('SET', 'a', '1')",
    "#!lua flags=no-writes\nreturn redis.call('SET', 'a', '1')",
    "#!lua nosuch\nreturn 1",
    "#!lua flags=nosuch\nreturn 1",
    "#!nosuch\nreturn 1",
    "#!lua",
];

/// A script that executes the command that its arguments are.
pub(super) fn of_command(random: &mut Rng) -> &'static [u8] {
    OF_COMMANDS[random.usize(..OF_COMMANDS.len())].as_bytes()
}

/// Any script.
pub(super) fn any(random: &mut Rng) -> &'static [u8] {
    if random.u32(..4) == 0 { of_command(random) } else { OTHERS[random.usize(..OTHERS.len())].as_bytes() }
}
