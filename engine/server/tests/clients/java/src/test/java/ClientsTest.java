import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisOperations;
import org.springframework.data.redis.core.SessionCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisDataException;

/** Do Java's Redis clients, and Spring, work with their defaults? The server's keys are removed. */
class ClientsTest {
  private static final String[] ADDRESS =
      System.getenv().getOrDefault("PLUMBKV_ADDRESS", "127.0.0.1:6379").split(":");
  private static final String HOST = ADDRESS[0];
  private static final int PORT = Integer.parseInt(ADDRESS[1]);

  @BeforeEach
  void flush() {
    try (var jedis = new Jedis(HOST, PORT)) {
      jedis.flushAll();
    }
  }

  @Test
  void jedisTransaction() {
    try (var jedis = new Jedis(HOST, PORT)) {
      var transaction = jedis.multi();
      transaction.set("a", "1");
      var sum = transaction.incrBy("a", 41);
      assertEquals(List.of("OK", 42L), transaction.exec());
      assertEquals(42L, sum.get());
      jedis.watch("a");
      try (var other = new Jedis(HOST, PORT)) {
        other.set("a", "0");
      }
      var late = jedis.multi();
      late.incr("a");
      assertNull(late.exec());
    }
  }

  @Test
  void jedisPipelineAndScript() {
    try (var jedis = new Jedis(HOST, PORT)) {
      var pipeline = jedis.pipelined();
      for (int number = 0; number < 20_000; number++) {
        pipeline.set("key:" + number, "x".repeat(100));
      }
      assertEquals(20_000, pipeline.syncAndReturnAll().size());
      assertEquals(20_000, jedis.dbSize());
      assertEquals("x".repeat(100), jedis.eval("return redis.call('GET', KEYS[1])", List.of("key:7"), List.of()));
      assertThrows(JedisDataException.class, () -> jedis.incr("key:7"));
    }
  }

  @Test
  void lettuceTransactionAndScript() {
    var client = RedisClient.create("redis://" + HOST + ":" + PORT);
    try (var connection = client.connect()) {
      var commands = connection.sync();
      assertEquals("OK", commands.set("a", "1", SetArgs.Builder.ex(60)));
      assertTrue(commands.ttl("a") > 50);
      commands.multi();
      commands.incrby("a", 41);
      commands.get("a");
      var replies = commands.exec();
      assertEquals(42L, (Long) replies.get(0));
      assertEquals("42", replies.get(1));
      String value = commands.eval("return redis.call('GET', KEYS[1])", ScriptOutputType.VALUE, "a");
      assertEquals("42", value);
    } finally {
      client.shutdown();
    }
  }

  @Test
  void springTransactionAndScript() {
    var factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration(HOST, PORT));
    factory.afterPropertiesSet();
    factory.start();
    try {
      var template = new StringRedisTemplate(factory);
      template.afterPropertiesSet();
      var replies =
          template.execute(
              new SessionCallback<List<Object>>() {
                @Override
                @SuppressWarnings("unchecked")
                public <K, V> List<Object> execute(RedisOperations<K, V> operations) throws DataAccessException {
                  var strings = (RedisOperations<String, String>) operations;
                  strings.multi();
                  strings.opsForValue().set("a", "1");
                  strings.opsForValue().increment("a", 41);
                  return strings.exec();
                }
              });
      assertEquals(2, replies.size());
      assertEquals(42L, replies.get(1));
      var script = RedisScript.of("return redis.call('GET', KEYS[1])", String.class);
      assertEquals("42", template.execute(script, List.of("a")));
    } finally {
      factory.destroy();
    }
  }
}
