import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.io.*;
import java.nio.file.*;
import java.util.*;
import javax.lang.model.element.Modifier;
import javax.tools.*;

/** Reads paths from standard input and prints one JSON object for each definition in these Java files. */
public class Definitions {
    public static void main(String[] args) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null);
        List<String> paths = new BufferedReader(new InputStreamReader(System.in)).lines().toList();
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
        for (String path : paths) {
            JavacTask task = (JavacTask) compiler.getTask(null, manager, d -> { }, List.of("-proc:none", "-encoding", "UTF-8"), null,
                    manager.getJavaFileObjects(Path.of(path)));
            for (CompilationUnitTree unit : task.parse()) {
                new Walk(path, unit, Trees.instance(task).getSourcePositions(), out).scan(unit, null);
            }
        }
        out.flush();
    }

    static class Walk extends TreeScanner<Void, Void> {
        final String path;
        final CompilationUnitTree unit;
        final SourcePositions positions;
        final PrintStream out;
        final String text;
        final Deque<String> owners = new ArrayDeque<>();
        int functions, values;

        Walk(String path, CompilationUnitTree unit, SourcePositions positions, PrintStream out) throws IOException {
            this.path = path;
            this.unit = unit;
            this.positions = positions;
            this.out = out;
            this.text = unit.getSourceFile().getCharContent(true).toString();
        }

        long line(long position) {
            return unit.getLineMap().getLineNumber(position);
        }

        int skipped(int at) {
            while (true) {
                while (at < text.length() && Character.isWhitespace(text.charAt(at))) at++;
                if (text.startsWith("//", at)) at = text.indexOf('\n', at);
                else if (text.startsWith("/*", at)) at = text.indexOf("*/", at) + 2;
                else return at;
            }
        }

        /** Where a definition begins, the annotations before it left out. */
        int start(Tree tree, ModifiersTree modifiers) {
            int at = (int) positions.getStartPosition(unit, tree);
            for (AnnotationTree annotation : modifiers.getAnnotations()) {
                if (positions.getStartPosition(unit, annotation) != at) break;
                at = skipped((int) positions.getEndPosition(unit, annotation));
            }
            return at;
        }

        void emit(Tree tree, String name, String kind, String role, int start, long body) {
            String owner = owners.isEmpty() ? "" : owners.peek();
            String its = functions > 0 ? "nested" : values > 0 ? "soft" : role;
            out.printf("{\"path\": \"%s\", \"name\": \"%s\", \"owner\": \"%s\", \"kind\": \"%s\", \"role\": \"%s\", \"first\": %d, \"body\": %d, \"last\": %d}%n",
                    path, name, owner, kind, its, line(start), line(body), line(positions.getEndPosition(unit, tree) - 1));
        }

        @Override
        public Void visitClass(ClassTree tree, Void none) {
            String name = tree.getSimpleName().toString();
            int start = start(tree, tree.getModifiers());
            if (!name.isEmpty()) {
                int head = start;
                List<Tree> parts = new ArrayList<>(tree.getTypeParameters());
                parts.addAll(tree.getImplementsClause());
                parts.addAll(tree.getPermitsClause());
                if (tree.getExtendsClause() != null) parts.add(tree.getExtendsClause());
                for (AnnotationTree annotation : tree.getModifiers().getAnnotations()) parts.add(annotation);
                for (Tree part : parts) head = Math.max(head, (int) positions.getEndPosition(unit, part));
                String kind = tree.getKind() == Tree.Kind.ANNOTATION_TYPE ? "interface" : tree.getKind().toString().toLowerCase();
                emit(tree, name, kind, "definition", start, text.indexOf('{', head));
            } else {
                values++;
            }
            owners.push(name);
            super.visitClass(tree, none);
            owners.pop();
            if (name.isEmpty()) values--;
            return null;
        }

        @Override
        public Void visitMethod(MethodTree tree, Void none) {
            long begin = positions.getStartPosition(unit, tree);
            if (begin >= 0) {
                String name = tree.getName().contentEquals("<init>") ? owners.peek() : tree.getName().toString();
                int start = start(tree, tree.getModifiers());
                if (tree.getBody() == null) {
                    emit(tree, name, "function", "proto", start, positions.getEndPosition(unit, tree) - 1);
                } else {
                    emit(tree, name, "function", "definition", start, positions.getStartPosition(unit, tree.getBody()));
                }
            }
            functions++;
            super.visitMethod(tree, none);
            functions--;
            return null;
        }

        @Override
        public Void visitLambdaExpression(LambdaExpressionTree tree, Void none) {
            functions++;
            super.visitLambdaExpression(tree, none);
            functions--;
            return null;
        }
    }
}
