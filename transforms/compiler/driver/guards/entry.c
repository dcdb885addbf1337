/* The way into compiled functions in C: guards as trees of a few operations, and calls with what is read from outside.

   Optional: where this could not be built, `guards.py` compiles the same guards as Python. Of NumPy it needs no header: where
   an array keeps its lengths, strides and dtype is part of NumPy's binary interface. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stddef.h>

typedef struct {
    PyObject_HEAD
    char *data;
    int nd;
    Py_ssize_t *dims, *strides;
    PyObject *base, *descr;
    int flags;
} Array;

enum { ARG, CONST, ATTR, ITEM, GET, TYPE, LEN, CALL, SAME, TUPLE, IS, ISNOT, EQ, NOTIN, NOT, AND, OR, LAYOUT };
static const char *const KINDS[] = {"arg", "const", "attr", "item", "get", "type", "len", "call", "same", "tuple", "is",
    "isnot", "eq", "notin", "not", "and", "or", "layout", 0};

typedef struct Node {
    int kind, n;               /* and how many operands follow */
    Py_ssize_t place;          /* of an argument; how many axes a layout has */
    PyObject *value;           /* a constant, the name of an attribute, the dtype of a layout: held by the tree */
    struct Node **kids;
    Py_ssize_t *sizes;         /* the lengths and strides of a layout */
} Node;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Node *root;
    PyObject *held;            /* all constants */
    PyObject *array_type, *same;
    Py_ssize_t positional;     /* arguments that are passed by position; those behind them by these names */
    PyObject *keywords;
} Tree;

static void free_node(Node *node)
{
    if (!node) return;
    for (int k = 0; node->kids && k < node->n; k++) free_node(node->kids[k]);
    PyMem_Free(node->kids);
    PyMem_Free(node->sizes);
    PyMem_Free(node);
}

static int sizes_of(Node *node, PyObject *shape, PyObject *strides)
{
    node->place = PyTuple_Check(shape) ? PyTuple_GET_SIZE(shape) : -1;
    if (node->place < 0 || !PyTuple_Check(strides) || PyTuple_GET_SIZE(strides) != node->place) {
        PyErr_SetString(PyExc_ValueError, "a layout has a length and a stride for each axis");
        return 0;
    }
    node->sizes = PyMem_Calloc((size_t)(2 * node->place + 1), sizeof(Py_ssize_t));
    if (!node->sizes) return 0;
    for (Py_ssize_t k = 0; k < node->place; k++) {
        node->sizes[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, k));
        node->sizes[node->place + k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, k));
    }
    return !PyErr_Occurred();
}

static Node *made(Tree *tree, PyObject *form)
{   /* form: (kind, operand, ...); what it names of Python's is put among what the tree holds */
    if (!PyTuple_Check(form) || PyTuple_GET_SIZE(form) < 1) {
        PyErr_SetString(PyExc_TypeError, "a form is a tuple");
        return 0;
    }
    Node *node = PyMem_Calloc(1, sizeof(Node));
    if (!node) { PyErr_NoMemory(); return 0; }
    Py_ssize_t size = PyTuple_GET_SIZE(form), first = 1;
    PyObject *kind = PyTuple_GET_ITEM(form, 0), *last = PyTuple_GET_ITEM(form, size - 1);
    for (node->kind = 0; KINDS[node->kind]; node->kind++)
        if (PyUnicode_Check(kind) && !PyUnicode_CompareWithASCIIString(kind, KINDS[node->kind])) break;
    if (!KINDS[node->kind]) { PyErr_Format(PyExc_ValueError, "%R is no kind of form", kind); goto fail; }
    switch (node->kind) {
    case ARG:
        node->place = PyLong_AsSsize_t(last);
        if (PyErr_Occurred()) goto fail;
        if (node->place < 0 || node->place >= tree->positional + PyTuple_GET_SIZE(tree->keywords)) {
            PyErr_SetString(PyExc_ValueError, "there is no such argument");
            goto fail;
        }
        return node;
    case CONST: case ATTR: case GET: case CALL:  /* ("attr", x, name), ("get", dict, name), ("call", function, ...) */
        node->value = node->kind == CALL ? PyTuple_GET_ITEM(form, 1) : last;
        if (PyList_Append(tree->held, node->value) < 0) goto fail;
        if (node->kind == CONST) return node;
        if (node->kind == CALL) first = 2; else size--;
        break;
    case LAYOUT:  /* ("layout", x, dtype, shape, strides) */
        if (size != 5) { PyErr_SetString(PyExc_ValueError, "a layout has four operands"); goto fail; }
        node->value = PyTuple_GET_ITEM(form, 2);
        if (PyList_Append(tree->held, node->value) < 0) goto fail;
        if (!sizes_of(node, PyTuple_GET_ITEM(form, 3), last)) goto fail;
        size = 2;
        break;
    }
    node->kids = PyMem_Calloc((size_t)size, sizeof(Node *));
    if (!node->kids) { PyErr_NoMemory(); goto fail; }
    for (; first < size; first++) {
        Node *kid = made(tree, PyTuple_GET_ITEM(form, first));
        if (!kid) goto fail;
        node->kids[node->n++] = kid;
    }
    int least = node->kind == AND || node->kind == OR || node->kind == CALL || node->kind == TUPLE ? 0
        : node->kind == ITEM || (node->kind >= IS && node->kind <= NOTIN) || node->kind == SAME ? 2 : 1;
    if (node->n < least) { PyErr_SetString(PyExc_ValueError, "a form lacks operands"); goto fail; }
    return node;
fail:
    free_node(node);
    if (!PyErr_Occurred()) PyErr_NoMemory();
    return 0;
}

static int truth(Tree *tree, Node *node, PyObject *const *args);

static PyObject *value(Tree *tree, Node *node, PyObject *const *args)
{   /* a new reference */
    PyObject *x, *y, *found;
    switch (node->kind) {
    case ARG: return Py_NewRef(args[node->place]);
    case CONST: return Py_NewRef(node->value);
    case TUPLE: case CALL:
        found = PyTuple_New(node->n);
        for (int k = 0; found && k < node->n; k++) {
            x = value(tree, node->kids[k], args);
            if (!x) { Py_CLEAR(found); break; }
            PyTuple_SET_ITEM(found, k, x);
        }
        if (node->kind == TUPLE || !found) return found;
        x = PyObject_Call(node->value, found, 0);
        Py_DECREF(found);
        return x;
    case ATTR: case GET: case TYPE: case LEN:
        x = value(tree, node->kids[0], args);
        if (!x) return 0;
        if (node->kind == ATTR) found = PyObject_GetAttr(x, node->value);
        else if (node->kind == TYPE) found = Py_NewRef((PyObject *)Py_TYPE(x));
        else if (node->kind == LEN) {
            Py_ssize_t n = PyObject_Size(x);
            found = n < 0 ? 0 : PyLong_FromSsize_t(n);
        } else if (!PyDict_Check(x)) {
            PyErr_SetString(PyExc_TypeError, "not a dict");
            found = 0;
        } else {
#if PY_VERSION_HEX >= 0x030D0000
            if (PyDict_GetItemRef(x, node->value, &found) == 0) found = Py_NewRef(Py_None);
#else
            found = PyDict_GetItemWithError(x, node->value);
            if (found || !PyErr_Occurred()) found = Py_NewRef(found ? found : Py_None);
#endif
        }
        Py_DECREF(x);
        return found;
    case ITEM:
        x = value(tree, node->kids[0], args);
        y = x ? value(tree, node->kids[1], args) : 0;
        found = y ? PyObject_GetItem(x, y) : 0;
        Py_XDECREF(x);
        Py_XDECREF(y);
        return found;
    }
    int is = truth(tree, node, args);
    return is < 0 ? 0 : PyBool_FromLong(is);
}

static int truth(Tree *tree, Node *node, PyObject *const *args)
{   /* -1 with an exception */
    PyObject *x, *y;
    int is;
    switch (node->kind) {
    case AND: case OR:
        for (int k = 0; k < node->n; k++) {
            is = truth(tree, node->kids[k], args);
            if (is < 0 || is == (node->kind == OR)) return is;
        }
        return node->kind == AND;
    case NOT:
        is = truth(tree, node->kids[0], args);
        return is < 0 ? is : !is;
    case IS: case ISNOT: case EQ: case SAME: case NOTIN:
        x = value(tree, node->kids[0], args);
        y = x ? value(tree, node->kids[1], args) : 0;
        if (!y) is = -1;
        else if (node->kind == IS) is = x == y;
        else if (node->kind == ISNOT) is = x != y;
        else if (node->kind == EQ) is = PyObject_RichCompareBool(x, y, Py_EQ);  /* NaN is no constant of a guard */
        else if (node->kind == NOTIN) { is = PySequence_Contains(y, x); is = is < 0 ? is : !is; }
        else if (x == y) is = 1;
        else {
            PyObject *both[2] = {x, y}, *found = PyObject_Vectorcall(tree->same, both, 2, 0);
            is = found ? PyObject_IsTrue(found) : -1;
            Py_XDECREF(found);
        }
        Py_XDECREF(x);
        Py_XDECREF(y);
        return is;
    case LAYOUT:
        x = value(tree, node->kids[0], args);
        if (!x) return -1;
        is = (PyObject *)Py_TYPE(x) == tree->array_type && ((Array *)x)->nd == node->place;
        for (Py_ssize_t k = 0; is && k < node->place; k++)
            is = ((Array *)x)->dims[k] == node->sizes[k] && ((Array *)x)->strides[k] == node->sizes[node->place + k];
        if (is && ((Array *)x)->descr != node->value) is = PyObject_RichCompareBool(((Array *)x)->descr, node->value, Py_EQ);
        Py_DECREF(x);
        return is;
    }
    x = value(tree, node, args);
    is = x ? PyObject_IsTrue(x) : -1;
    Py_XDECREF(x);
    return is;
}

/* The arguments of a call in the tree's order; `room` holds them where there are keywords. 0 where they are others. */
static PyObject *const *bound(Tree *tree, PyObject *const *args, size_t nargsf, PyObject *names, PyObject **room)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), keywords = PyTuple_GET_SIZE(tree->keywords);
    if (n != tree->positional || (names ? PyTuple_GET_SIZE(names) : 0) != keywords) return 0;
    if (!keywords) return args;
    for (Py_ssize_t k = 0; k < n; k++) room[k] = args[k];
    for (Py_ssize_t k = 0; k < keywords; k++) {
        PyObject *name = PyTuple_GET_ITEM(tree->keywords, k);
        Py_ssize_t j = 0;
        while (j < keywords && PyTuple_GET_ITEM(names, j) != name && PyUnicode_Compare(PyTuple_GET_ITEM(names, j), name)) j++;
        if (j == keywords) return 0;
        room[n + k] = args[n + j];
    }
    return room;
}

#define MOST 64

static PyObject *called(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Tree *tree = (Tree *)self;
    PyObject *room[MOST];
    if (!tree->root) { PyErr_SetString(PyExc_RuntimeError, "the tree was cleared"); return 0; }
    args = bound(tree, args, nargsf, names, room);
    if (!args && (tree->positional || PyTuple_GET_SIZE(tree->keywords) || PyVectorcall_NARGS(nargsf) || names)) Py_RETURN_FALSE;
    return value(tree, tree->root, args);
}

static PyObject *new_tree(PyTypeObject *type, PyObject *args, PyObject *keywords)
{   /* Tree(form, positional, keywords, type of arrays, same) */
    PyObject *form, *names, *array_type, *same;
    Py_ssize_t positional;
    if (!PyArg_ParseTuple(args, "OnO!OO", &form, &positional, &PyTuple_Type, &names, &array_type, &same)) return 0;
    if (positional < 0 || positional + PyTuple_GET_SIZE(names) > MOST) {
        PyErr_SetString(PyExc_ValueError, "too many arguments");
        return 0;
    }
    Tree *tree = (Tree *)type->tp_alloc(type, 0);
    if (!tree) return 0;
    tree->call = called;
    tree->positional = positional;
    tree->keywords = Py_NewRef(names);
    tree->array_type = Py_NewRef(array_type);
    tree->same = Py_NewRef(same);
    tree->held = PyList_New(0);
    tree->root = tree->held ? made(tree, form) : 0;
    if (!tree->root) { Py_DECREF(tree); return 0; }
    return (PyObject *)tree;
}

static int traverse_tree(PyObject *self, visitproc visit, void *arg)
{
    Tree *tree = (Tree *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(tree->held);
    Py_VISIT(tree->keywords);
    Py_VISIT(tree->array_type);
    Py_VISIT(tree->same);
    return 0;
}

static int clear_tree(PyObject *self)
{
    Tree *tree = (Tree *)self;
    Node *root = tree->root;
    tree->root = 0;
    free_node(root);
    Py_CLEAR(tree->held);
    Py_CLEAR(tree->keywords);
    Py_CLEAR(tree->array_type);
    Py_CLEAR(tree->same);
    return 0;
}

static void free_object(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    type->tp_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef tree_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Tree, call), READONLY, 0}, {0},
};

static PyType_Slot tree_slots[] = {
    {Py_tp_new, new_tree}, {Py_tp_dealloc, free_object}, {Py_tp_traverse, traverse_tree}, {Py_tp_clear, clear_tree},
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, tree_members}, {0, 0},
};

static PyType_Spec tree_spec = {
    "gradscribe.transforms.compiler.driver.guards._entry.Tree", sizeof(Tree), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, tree_slots,
};

/* --- a function with what is read from outside behind its arguments --------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *function, *reads;  /* reads: a Tree that gives a tuple */
} Joined;

static PyObject *call_joined(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Joined *joined = (Joined *)self;
    Tree *reads = (Tree *)joined->reads;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    PyObject *all[2 * MOST];
    if (!reads || !reads->root) { PyErr_SetString(PyExc_RuntimeError, "the function was cleared"); return 0; }
    if (names && PyTuple_GET_SIZE(names)) { PyErr_SetString(PyExc_TypeError, "no keywords are taken"); return 0; }
    if (n > MOST) { PyErr_SetString(PyExc_TypeError, "too many arguments"); return 0; }
    Py_ssize_t more = 0;
    for (Py_ssize_t k = 0; k < n; k++) all[k] = args[k];
    PyObject *result = 0, *function = Py_NewRef(joined->function);
    for (; more < reads->root->n; more++)
        if (!(all[n + more] = value(reads, reads->root->kids[more], 0))) goto done;
    result = PyObject_Vectorcall(function, all, (size_t)(n + more), 0);
done:
    Py_DECREF(function);
    for (Py_ssize_t k = 0; k < more; k++) Py_DECREF(all[n + k]);
    return result;
}

static PyObject *new_joined(PyTypeObject *type, PyObject *args, PyObject *keywords)
{   /* Joined(function, a Tree of a tuple that takes no arguments) */
    PyObject *function, *reads;
    if (!PyArg_ParseTuple(args, "OO", &function, &reads)) return 0;
    Tree *tree = (Tree *)reads;
    if (strcmp(Py_TYPE(reads)->tp_name, tree_spec.name) || !tree->root || tree->root->kind != TUPLE || tree->root->n > MOST
        || tree->positional || PyTuple_GET_SIZE(tree->keywords)) {
        PyErr_SetString(PyExc_TypeError, "what is read from outside is a Tree of a tuple");
        return 0;
    }
    Joined *joined = (Joined *)type->tp_alloc(type, 0);
    if (!joined) return 0;
    joined->call = call_joined;
    joined->function = Py_NewRef(function);
    joined->reads = Py_NewRef(reads);
    return (PyObject *)joined;
}

static int traverse_joined(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Joined *)self)->function);
    Py_VISIT(((Joined *)self)->reads);
    return 0;
}

static int clear_joined(PyObject *self)
{
    Py_CLEAR(((Joined *)self)->function);
    Py_CLEAR(((Joined *)self)->reads);
    return 0;
}

static PyMemberDef joined_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Joined, call), READONLY, 0}, {0},
};

static PyType_Slot joined_slots[] = {
    {Py_tp_new, new_joined}, {Py_tp_dealloc, free_object}, {Py_tp_traverse, traverse_joined}, {Py_tp_clear, clear_joined},
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, joined_members}, {0, 0},
};

static PyType_Spec joined_spec = {
    "gradscribe.transforms.compiler.driver.guards._entry.Joined", sizeof(Joined), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, joined_slots,
};

static int fill(PyObject *module)
{
    PyType_Spec *specs[] = {&tree_spec, &joined_spec};
    for (int k = 0; k < 2; k++) {
        PyObject *type = PyType_FromModuleAndSpec(module, specs[k], 0);
        if (!type) return -1;
        int failed = PyModule_AddType(module, (PyTypeObject *)type);
        Py_DECREF(type);
        if (failed) return -1;
    }
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, 0},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_entry", "Guards and calls of compiled functions.", 0, 0, slots, 0, 0, 0};

PyMODINIT_FUNC PyInit__entry(void) { return PyModuleDef_Init(&module); }
