<?php
// Reads paths from standard input and prints one JSON object for each definition in these PHP files.
const MODIFIERS = [T_PUBLIC, T_PROTECTED, T_PRIVATE, T_STATIC, T_ABSTRACT, T_FINAL, T_READONLY];
const TYPES = [T_CLASS => 'class', T_INTERFACE => 'interface', T_TRAIT => 'trait', T_ENUM => 'enum'];

function definitions(string $path): void
{
    $tokens = array_values(array_filter(
        PhpToken::tokenize(file_get_contents($path)),
        fn ($t) => !$t->is([T_WHITESPACE, T_COMMENT, T_DOC_COMMENT, T_OPEN_TAG, T_INLINE_HTML])
    ));
    $open = [];      // one entry for each open brace: null, or the definition it is the body of
    $waiting = null; // the definition whose body has not begun
    $round = 0;
    foreach ($tokens as $i => $t) {
        $before = $tokens[$i - 1] ?? null;
        $after = $tokens[$i + 1] ?? null;
        $type = TYPES[$t->id] ?? null;
        if ($type && !($before && $before->is([T_DOUBLE_COLON, T_OBJECT_OPERATOR]))) {
            $named = $after && $after->is(T_STRING) && !($before && $before->is(T_NEW));
            $waiting = ['kind' => $type, 'name' => $named ? $after->text : '', 'start' => start($tokens, $i), 'round' => $round];
        } elseif ($t->is(T_FUNCTION) && !($before && $before->is(T_USE))) {
            $next = $after && $after->text === '&' ? ($tokens[$i + 2] ?? null) : $after;
            $name = $next && $next->text !== '(' ? $next->text : '';
            $waiting = ['kind' => 'function', 'name' => $name, 'start' => start($tokens, $i), 'round' => $round];
        } elseif ($t->text === '(') {
            $round++;
        } elseif ($t->text === ')') {
            $round--;
        } elseif ($t->text === ';' && $waiting && $round === $waiting['round']) {
            emit($path, $open, $waiting, $t->line, $t->line, 'proto');
            $waiting = null;
        } elseif ($t->text === '{' || $t->is([T_CURLY_OPEN, T_DOLLAR_OPEN_CURLY_BRACES])) {
            if ($waiting) {
                $waiting['body'] = $t->line;
            }
            $open[] = $waiting;
            $waiting = null;
        } elseif ($t->text === '}') {
            $closed = array_pop($open);
            if ($closed) {
                emit($path, $open, $closed, $closed['body'], $t->line, 'definition');
            }
        }
    }
}

function start(array $tokens, int $i): int
{
    while ($i > 0 && $tokens[$i - 1]->is(MODIFIERS)) {
        $i--;
    }
    return $tokens[$i]->line;
}

function emit(string $path, array $open, array $it, int $body, int $last, string $role): void
{
    if ($it['name'] === '') {
        return;
    }
    $around = array_filter($open);
    $owner = end($around) ?: ['kind' => '', 'name' => ''];
    foreach ($around as $outer) {
        if ($outer['kind'] === 'function') {
            $role = 'nested';
        } elseif ($outer['name'] === '' && $role !== 'nested') {
            $role = 'soft';
        }
    }
    echo json_encode(['path' => $path, 'name' => $it['name'], 'owner' => $owner['kind'] === 'function' ? '' : $owner['name'],
        'kind' => $it['kind'], 'role' => $role, 'first' => $it['start'], 'body' => $body, 'last' => $last], JSON_UNESCAPED_SLASHES), "\n";
}

while (($path = fgets(STDIN)) !== false) {
    definitions(rtrim($path, "\n"));
}
